// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

/// uniform: every expert is as popular as any other; balanced: the tokens of a step spread over as many
/// experts as they can; power_law: popularity has the density x^-exponent.
enum class RoutingKind : std::uint8_t { uniform, balanced, power_law };

/// How the tokens of a step choose their experts. A property of traffic and router, not of the weights.
struct Routing {
    RoutingKind kind = RoutingKind::uniform;
    double exponent = 0;  ///< power_law: 0 to 2; 1.01 and 1.2 in published benchmarks, about the most skewed

    bool operator==(const Routing&) const = default;
};

/// Beyond, ever more experts are equally unpopular beside a few favourites: the law says nothing new.
inline constexpr double kLargestRoutingExponent = 2;

/// "uniform", "balanced", "power-law:1.2"; nothing when it is none of them.
std::optional<Routing> routing_of(std::string_view text);
std::string to_string(const Routing& routing);

}  // namespace headroom
