// SPDX-License-Identifier: Apache-2.0
#include "ops/routing.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

// Probability of each expert to be among a token's top_k: proportional to its popularity, none above 1 and
// the sum top_k. Those that reach 1 are fixed there and the rest is dealt out again. `popularity` ascends.
std::vector<double> inclusion(std::vector<double> popularity, double top_k) {
    double sum = 0;
    for (const double p : popularity) sum += p;
    double left = std::min(top_k, static_cast<double>(popularity.size()));
    std::size_t free = popularity.size();
    while (free > 0 && left * popularity[free - 1] > sum) {
        sum -= popularity[--free];
        popularity[free] = 1;
        left -= 1;
    }
    for (std::size_t i = 0; i < free; ++i) popularity[i] *= left / sum;
    return popularity;
}

ExpertTraffic skewed(double exponent, double held, double experts, double top_k, double tokens) {
    const auto p = inclusion(
        power_law_quantiles(static_cast<int>(experts), kLeastPopular, kMostPopular, exponent), top_k);
    ExpertTraffic t;
    double variance = 0;
    const double mean = top_k / experts;
    for (const double each : p) {
        t.hit += held / experts * (each < 1 ? -std::expm1(tokens * std::log1p(-each)) : 1);
        variance += (each - mean) * (each - mean) / experts;
    }
    // Experts are dealt out at random, so a GPU's share is a sum of `held` draws without putting back.
    const double groups = experts / held;
    const double spread = std::sqrt(variance / held * (experts - held) / std::max(1.0, experts - 1)) / mean;
    const double busiest = 1 + largest_of(static_cast<int>(std::lround(groups))) * spread;
    t.rows = tokens * std::min({top_k / groups * busiest, top_k, held});
    return t;
}

}  // namespace

ExpertTraffic expert_traffic(const Routing& routing, double held, double experts, double top_k,
                             double tokens) {
    if (experts < 1 || held <= 0 || tokens <= 0) return {};
    const double rows = tokens * top_k * held / experts;
    switch (routing.kind) {
        case RoutingKind::uniform: {
            const double share = top_k / experts;
            return {share < 1 ? -held * std::expm1(tokens * std::log1p(-share)) : held, rows};
        }
        case RoutingKind::balanced:
            return {std::min(held, rows), rows};
        case RoutingKind::power_law:
            return skewed(routing.exponent, held, experts, top_k, tokens);
    }
    return {};
}

std::vector<double> power_law_quantiles(int count, double low, double high, double exponent) {
    std::vector<double> x(static_cast<std::size_t>(count));
    const double a = 1 - exponent;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double u = (static_cast<double>(i) + 0.5) / count;
        x[i] = std::abs(a) < 1e-9
                   ? low * std::pow(high / low, u)
                   : std::pow((std::pow(high, a) - std::pow(low, a)) * u + std::pow(low, a), 1 / a);
    }
    return x;
}

double largest_of(int n) {
    if (n <= 1) return 0;
    const double p = (n - 0.375) / (n + 0.25);
    double low = 0;
    double high = 8;
    for (int i = 0; i < 50; ++i) {
        const double mid = (low + high) / 2;
        (1 - 0.5 * std::erfc(mid / std::sqrt(2.0)) < p ? low : high) = mid;
    }
    return low;
}

}  // namespace headroom
