// SPDX-License-Identifier: Apache-2.0
#include "report/render.h"

#include "base/units.h"
#include "base/version.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace headroom {
namespace {

void flatten(const Json& value, const std::string& key, std::vector<std::pair<std::string, Json>>& to) {
    if (value.is_object()) {
        for (const auto& [name, below] : value.items())
            flatten(below, key.empty() ? name : key + "." + name, to);
    } else if (!value.is_array()) {
        to.emplace_back(key, value);
    }
}

std::string csv_cell(const Json& value) {
    if (!value.is_string()) return value.is_null() ? "" : value.dump();
    const std::string text = value.get<std::string>();
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

// Display width: continuation bytes of UTF-8 take no column.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool is_number(const std::string& text) {
    return !text.empty() &&
           (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '-' || text[0] == '<');
}

// The list that CSV is made of. An answer without one (a device's figures, a reason why nothing runs) is one
// row.
Json rows_of(const Report& report) {
    const auto found = report.json.find(report.rows);
    if (found != report.json.end() && !found->empty()) return *found;
    Json row = Json::object();
    for (const auto& [key, value] : report.json.items()) {
        if (key != "inputs" && !(value.is_array() && value.empty())) row[key] = value;
    }
    return Json::array({row});
}

}  // namespace

std::string render(const Report& report, Format format) {
    switch (format) {
        case Format::table:
            return report.text;
        case Format::json:
            return report.json.dump(2) + "\n";
        case Format::csv:
            return csv(rows_of(report));
    }
    return "";
}

Json envelope(const std::string& command) {
    return {{"schema", "headroom." + command + "/1"}, {"version", kVersion}, {"inputs", Json::object()}};
}

Json envelope(const std::string& command, const Question& q) {
    Json json = envelope(command);
    const Deployment& d = q.deployment;
    json["inputs"] = {{"model", q.echo.model},
                      {"hw", q.echo.hw},
                      {"engine", q.echo.engine},
                      {"weights", q.echo.weights},
                      {"kv", q.echo.kv},
                      {"routing", to_string(q.model.routing)},
                      {"tp", d.tp},
                      {"pp", d.pp},
                      {"ep", d.ep},
                      {"dp", d.dp},
                      {"cp", d.cp}};
    if (!q.echo.workload.empty()) json["inputs"]["workload"] = q.echo.workload;
    json["inputs"]["set"] = q.echo.set;
    if (!q.echo.speculate.empty()) json["inputs"]["speculate"] = q.echo.speculate;
    return json;
}

void put_times(Json& to, const TimeEstimate& time) {
    to["floor_s"] = time.floor.in(second);
    to["low_s"] = time.low.in(second);
    to["expected_s"] = time.expected.in(second);
    to["high_s"] = time.high.in(second);
}

std::string csv(const Json& rows) {
    std::vector<std::string> columns;
    std::vector<std::vector<std::pair<std::string, Json>>> cells;
    for (const Json& row : rows) {
        cells.emplace_back();
        flatten(row, "", cells.back());
        for (const auto& [key, value] : cells.back()) {
            if (std::find(columns.begin(), columns.end(), key) == columns.end()) columns.push_back(key);
        }
    }
    std::string text;
    for (const std::string& column : columns) text += (text.empty() ? "" : ",") + csv_cell(column);
    text += "\n";
    for (const auto& row : cells) {
        std::string line;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const auto cell =
                std::find_if(row.begin(), row.end(), [&](const auto& c) { return c.first == columns[i]; });
            line += (i == 0 ? "" : ",") + (cell == row.end() ? std::string() : csv_cell(cell->second));
        }
        text += line + "\n";
    }
    return text;
}

std::string Table::to_string() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
            widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::vector<bool> right(widths.size());
    for (std::size_t i = 0; i < widths.size(); ++i) {
        right[i] = rows_.size() > 1 && std::all_of(rows_.begin() + 1, rows_.end(), [&](const auto& row) {
                       return i >= row.size() || row[i].empty() || row[i] == "-" || is_number(row[i]);
                   });
    }
    std::string text;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            const std::string space(widths[i] - width_of(row[i]), ' ');
            line += (i == 0 ? "  " : "  ") + (right[i] ? space + row[i] : row[i] + space);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string heading(const Question& q) {
    std::string text = fmt::format("{} on {}, weights {}, KV {}, engine {}", q.model.name, deployment_name(q),
                                   q.echo.weights, q.echo.kv, q.engine.name);
    if (!(q.model.routing == Routing{})) text += ", routing " + to_string(q.model.routing);
    return text;
}

bool differs(Bound expected, Bound floor) { return expected != Bound::overhead && expected != floor; }

std::string bound_text(Bound expected, Bound floor) {
    return to_string(expected) + (differs(expected, floor) ? " (floor: " + to_string(floor) + ")" : "");
}

std::string bound_note(bool any_differs) {
    return any_differs ? "binds: what most of the expected time goes to; in brackets what binds the floor, "
                         "where that is another\n"
                       : "";
}

std::string percent(double fraction, int significant) {
    return format_number(100 * fraction, significant) + " %";
}

std::string bar(double fraction, int width) {
    const int filled = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * width));
    return std::string(static_cast<std::size_t>(filled), '#') +
           std::string(static_cast<std::size_t>(width - filled), '.');
}

}  // namespace headroom
