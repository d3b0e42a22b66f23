// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace headroom {

/// Heights of a row tile of a grouped product; an expert's rows are rounded up to a whole number of them.
inline constexpr std::array<double, 4> expert_tiles{16, 32, 64, 128};

/// What the router gives to the experts of one device.
struct ExpertLoad {
    double hit = 0;   ///< experts with at least one row: their weights are read
    double rows = 0;  ///< rows (token, expert) computed here
    std::array<double, expert_tiles.size()> tiles{};  ///< row tiles, for each height of `expert_tiles`
};

/// Every token picks `top_k` of `experts` at random, all alike; `local` of them are here.
ExpertLoad uniform_load(double tokens, int experts, int local, int top_k);

/// `rows` dealt at random over some experts of which `hit` got any.
ExpertLoad touched_load(double hit, double rows);

/// Every expert gets the same number of rows, as evenly as whole rows allow (a benchmark's "balanced").
ExpertLoad balanced_load(double tokens, int experts, int local, int top_k);

/// The dealing of published benchmarks: whole rows after a power law of this exponent, those that rounding
/// leaves over to idle experts first, and the device is the busiest of experts/local, the expected largest of
/// that many groups. Traffic deals tokens at random instead: `expert_traffic`.
ExpertLoad power_law_load(double tokens, int experts, int local, int top_k, double exponent);

}  // namespace headroom
