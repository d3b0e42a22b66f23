// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.h"
#include "base/units.h"
#include "validate/bench_result.h"
#include "validate/csv.h"
#include "validate/gguf.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headroom {
namespace {

using Row = nlohmann::json;
using Fields = std::map<std::string, std::string>;

[[noreturn]] void refuse_line(const std::string& file, int line, const std::string& message) {
    throw InputError({Diagnostic{{file, line, 1}, "", message, ""}});
}

double plain(const Fields& row, const std::string& key, const std::string& file, int line) {
    const auto at = row.find(key);
    if (at == row.end() || at->second.empty()) return 0;
    const auto parsed = parse_number(at->second);
    if (const double* value = std::get_if<double>(&parsed)) return *value;
    refuse_line(file, line, fmt::format("{}: '{}' is not a number", key, at->second));
}

std::string word(const Fields& row, const std::string& key) {
    const auto at = row.find(key);
    return at == row.end() ? "" : at->second;
}

/// "pp512", "tg128", "pp2048+tg128", "tg128 @ d4096".
void read_test(BenchResult& r, const std::string& test, const std::string& file, int line) {
    const auto after = [&](const std::string& mark) {
        const std::size_t at = test.find(mark);
        if (at == std::string::npos) return 0.0;
        std::size_t end = at + mark.size();
        double value = 0;
        for (; end < test.size() && test[end] >= '0' && test[end] <= '9'; ++end)
            value = 10 * value + (test[end] - '0');
        return value;
    };
    r.input = after("pp");
    r.output = after("tg");
    r.depth = after("@ d");
    if (r.input <= 0 && r.output <= 0)
        refuse_line(file, line, "'" + test + "' is no test of llama-bench (pp512, tg128, ...)");
}

BenchResult start(const std::string& file, int line) {
    BenchResult r;
    r.program = "llama-bench";
    r.where = fmt::format("{}:{}", file, line);
    r.single = true;
    r.concurrency = 1;
    return r;
}

/// JSON and CSV have the same fields.
BenchResult of_fields(const Fields& row, const std::string& file, int line) {
    BenchResult r = start(file, line);
    const auto number = [&](const char* key) { return plain(row, key, file, line); };
    r.input = number("n_prompt");
    r.output = number("n_gen");
    r.depth = number("n_depth");
    r.rate = number("avg_ts");
    r.ubatch = number("n_ubatch");
    r.model = word(row, "model_type");
    r.weights = gguf_type(r.model);
    r.device = word(row, "gpu_info");
    return r;
}

std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::string cell;
    for (std::size_t i = line.find('|') + 1; i < line.size(); ++i) {
        if (line[i] != '|') {
            cell += line[i];
            continue;
        }
        const std::size_t from = cell.find_first_not_of(' '), to = cell.find_last_not_of(' ');
        cells.push_back(from == std::string::npos ? "" : cell.substr(from, to - from + 1));
        cell.clear();
    }
    return cells;
}

std::optional<std::vector<BenchResult>> markdown(const std::string& text, const std::string& file) {
    std::vector<BenchResult> results;
    std::vector<std::string> header;
    int number = 0;
    std::string device;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t to = std::min(text.find('\n', from), text.size());
        const std::string line = text.substr(from, to - from);
        from = to + 1;
        ++number;
        // "  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes" before the table.
        if (const std::size_t at = line.find("Device 0: "); at != std::string::npos)
            device = line.substr(at + 10, line.find(',', at) - at - 10);
        if (line.empty() || line[0] != '|') continue;
        const std::vector<std::string> cells = cells_of(line);
        if (std::find(cells.begin(), cells.end(), "t/s") != cells.end()) {
            header = cells;
            continue;
        }
        if (header.empty() || cells.empty() || cells[0].find("---") != std::string::npos) continue;
        if (cells.size() != header.size())
            refuse_line(file, number,
                        fmt::format("has {} cells where the header has {}", cells.size(), header.size()));
        Fields row;
        for (std::size_t i = 0; i < cells.size(); ++i) row[header[i]] = cells[i];
        BenchResult r = start(file, number);
        read_test(r, word(row, "test"), file, number);
        // "4893.12 ± 22.04".
        row["t/s"] = row["t/s"].substr(0, row["t/s"].find(' '));
        r.rate = plain(row, "t/s", file, number);
        r.ubatch = plain(row, "n_ubatch", file, number);
        r.model = word(row, "model");
        r.weights = gguf_type(r.model);
        r.device = device;
        results.push_back(std::move(r));
    }
    if (header.empty()) return std::nullopt;
    return results;
}

std::optional<std::vector<BenchResult>> json(const std::string& text, const std::string& file) {
    std::vector<BenchResult> results;
    const auto take = [&](const Row& row, int line) {
        Fields fields;
        for (const auto& [key, value] : row.items()) {
            if (value.is_string()) fields[key] = value.get<std::string>();
            if (value.is_number()) fields[key] = value.dump();
        }
        results.push_back(of_fields(fields, file, line));
    };
    const Row whole = Row::parse(text, nullptr, false);
    if (whole.is_array()) {
        for (const Row& row : whole) take(row, 1);
        return results;
    }
    int number = 0;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t to = std::min(text.find('\n', from), text.size());
        const std::string line = text.substr(from, to - from);
        from = to + 1;
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        const Row row = Row::parse(line, nullptr, false);
        if (!row.is_object()) refuse_line(file, number, "the JSON of llama-bench ends or breaks here");
        take(row, number);
    }
    return results;
}

}  // namespace

std::optional<std::vector<BenchResult>> llama_bench_results(const std::string& text,
                                                            const std::string& file) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return std::nullopt;
    if (text[first] == '[' || text[first] == '{')
        return text.find("\"avg_ts\"") == std::string::npos ? std::nullopt : json(text, file);
    const std::string header = text.substr(first, text.find('\n', first) - first);
    if (header.find("avg_ts") != std::string::npos && header.find("n_prompt") != std::string::npos) {
        const CsvTable table = parse_csv(text, file);
        std::vector<BenchResult> results;
        for (std::size_t i = 0; i < table.rows.size(); ++i) {
            Fields row;
            for (std::size_t c = 0; c < table.header.size(); ++c) row[table.header[c]] = table.rows[i][c];
            results.push_back(of_fields(row, file, table.lines[i]));
        }
        return results;
    }
    return markdown(text, file);
}

}  // namespace headroom
