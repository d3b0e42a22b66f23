// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/source.h"

#include <array>
#include <string_view>
#include <utility>

namespace headroom {

/// Kinds of source as data files say them.
inline constexpr std::array kSourceKinds{std::pair{SourceKind::datasheet, std::string_view("datasheet")},
                                         std::pair{SourceKind::measured, std::string_view("measured")},
                                         std::pair{SourceKind::estimate, std::string_view("estimate")}};

/// As printed; `option` is in no file.
constexpr std::string_view to_string(SourceKind kind) {
    for (const auto& [known, name] : kSourceKinds)
        if (known == kind) return name;
    return "option";
}

}  // namespace headroom
