// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/routing.h"

#include <vector>

namespace headroom {

/// What the router gives to the experts of one GPU in one step. Means, so fractional.
struct ExpertTraffic {
    double hit = 0;   ///< held experts with at least one row: their weights are read
    double rows = 0;  ///< rows (token, expert) computed here
};

/// `tokens` tokens choose `top_k` of `experts` each; `held` of these are here. With p(i) the probability that
/// expert i is among a token's choices (their sum is top_k):
///   hit = held / experts * sum of 1 - (1 - p(i))^tokens,  rows = held / experts * top_k * tokens
/// uniform: p = top_k / experts, which touches the most experts of all p (concave in p). balanced: as many as
/// there are rows. power_law: the GPU is the busiest one, so its rows are the expected largest.
ExpertTraffic expert_traffic(const Routing& routing, double held, double experts, double top_k,
                             double tokens);

/// Quantiles of the law with density x^-exponent on [low, high], `count` of them, ascending.
std::vector<double> power_law_quantiles(int count, double low, double high, double exponent);

/// The range of popularity that traffic is taken to have: that of the published kernel benchmarks where rows
/// are fewer than experts. The most popular expert is asked for 200 times as often as the least.
inline constexpr double kLeastPopular = 0.01;
inline constexpr double kMostPopular = 2;

/// Expected largest of n independent standard normals (Blom's approximation of the n-th order statistic).
double largest_of(int n);

}  // namespace headroom
