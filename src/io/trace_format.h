// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/trace_fields.h"
#include "io/trace_reader.h"

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom::trace {

/// How the rows of one file are laid out: the format's table entry, or what `--columns` says.
struct Layout {
    std::string format;
    bool json = false;
    char delimiter = ',';
    bool header = true;
    std::array<std::string, kRoles> key;  ///< column name or JSON key by role; "": the file has none
    std::array<int, kRoles> column{};     ///< CSV: position from 0 by role; -1: none
    std::vector<std::pair<int, ColumnRole>> order;  ///< CSV: the columns that there are, from left to right
    TimeUnit unit = TimeUnit::s;
    int prefix_block = 0;
};

/// The layout of the file whose first line with anything in it is `first`. InputError, with the names that
/// were found and what was probably meant, when it is no known one.
Layout detect(const std::string& path, std::string_view first, const TraceOptions& options);

/// Leaves only these roles in a layout, so that a pass that needs no others does not look at them.
Layout only(const Layout& layout, std::initializer_list<ColumnRole> roles);

/// The fields of a CSV row that have a role. False when the row has fewer columns than are needed.
bool scan_csv(std::string_view line, const Layout& layout, Fields& fields);

/// The values of a JSON object's top-level keys that have a role. False when the line is no such object.
bool scan_json(std::string_view line, const Layout& layout, Fields& fields);

/// The top-level keys of a JSON object, in order; empty when the line is none.
std::vector<std::string> json_keys(std::string_view line);

}  // namespace headroom::trace
