// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/units.h"
#include "spec/computation.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headroom {

/// "h, 2*y + r, d": one affine axis per comma. Unknown names are faults with a suggestion.
std::variant<std::vector<Axis>, ParseFault> parse_index(std::string_view text,
                                                        const std::vector<LoopDimension>& dimensions);

using SizeOf = std::function<std::optional<std::int64_t>(const std::string& name)>;

/// A size: a count ("8192", "128k"), a name, or these joined by * and / from left to right. A division that
/// leaves a rest is a fault.
std::variant<std::int64_t, ParseFault> parse_size(std::string_view text, const SizeOf& size_of);

/// Text without white space at its ends; the parts of a list.
std::string trimmed(std::string_view text);
std::vector<std::string> parts_of(std::string_view text, char separator);

}  // namespace headroom
