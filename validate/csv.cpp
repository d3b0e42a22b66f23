// SPDX-License-Identifier: Apache-2.0
#include "validate/csv.h"

#include "base/diagnostic.h"

#include <algorithm>

namespace headroom {
namespace {

std::vector<std::string> split_line(std::string_view line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (c == '"') {
            if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
                fields.back() += '"';
                ++i;
            } else {
                quoted = !quoted;
            }
        } else if (c == ',' && !quoted) {
            fields.emplace_back();
        } else {
            fields.back() += c;
        }
    }
    return fields;
}

}  // namespace

int CsvTable::column(std::string_view name) const {
    const auto at = std::find(header.begin(), header.end(), name);
    return at == header.end() ? -1 : static_cast<int>(at - header.begin());
}

CsvTable parse_csv(std::string_view text, const std::string& file) {
    CsvTable table;
    std::vector<Diagnostic> faults;
    int number = 0;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (!line.empty() && line.back() == '\r') {
            line.remove_suffix(1);
        }
        if (line.empty()) {
            continue;
        }
        auto fields = split_line(line);
        if (table.header.empty()) {
            table.header = std::move(fields);
        } else if (fields.size() != table.header.size()) {
            Diagnostic fault;
            fault.where = {file, number, 1};
            fault.message = "has " + std::to_string(fields.size()) + " fields where the header has " +
                            std::to_string(table.header.size());
            faults.push_back(std::move(fault));
        } else {
            table.rows.push_back(std::move(fields));
            table.lines.push_back(number);
        }
    }
    if (!faults.empty()) {
        throw InputError(std::move(faults));
    }
    return table;
}

}  // namespace headroom
