// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace headroom {

enum class SourceKind { datasheet, measured, estimate, option };

/// Where figures are from. `option` marks what the command line replaced.
struct Source {
    std::string id;
    SourceKind kind = SourceKind::estimate;
    std::string title;
    std::string where;
    std::string date;
};

/// A figure and the id of its source.
template <class T>
struct Fact {
    T value{};
    std::string source;
    SourceKind kind = SourceKind::estimate;
};

}  // namespace headroom
