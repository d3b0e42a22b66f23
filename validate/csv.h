// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// A comma-separated table with a header line. Quoted fields may hold commas and doubled quotes.
struct CsvTable {
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;
    std::vector<int> lines;  ///< line of each row, from 1

    /// Place of a column, or -1.
    int column(std::string_view name) const;
};

/// Reads `text`; CRLF and a missing last newline are fine. A row with another number of fields than the
/// header is an `InputError` that names `file` and the line.
CsvTable parse_csv(std::string_view text, const std::string& file);

}  // namespace headroom
