// SPDX-License-Identifier: Apache-2.0
#include "perf/expert_load.h"

#include "ops/routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace headroom {
namespace {

ExpertLoad of_rows(const std::vector<double>& rows) {
    ExpertLoad load;
    for (const double r : rows) {
        load.rows += r;
        load.hit += r > 0 ? 1 : 0;
        for (std::size_t i = 0; i < expert_tiles.size(); ++i) {
            load.tiles[i] += std::ceil(r / expert_tiles[i]);
        }
    }
    return load;
}

/// Mean of ceil(X / height) for X Poisson of mean `mean`: the sum over j of P(X > j height), the normal
/// approximation with continuity correction beyond the first term.
double mean_tiles(double mean, double height) {
    double sum = -std::expm1(-mean);
    const double reach = mean + 6 * std::sqrt(mean);
    for (double edge = height; edge < reach; edge += height) {
        sum += 0.5 * std::erfc((edge + 0.5 - mean) / std::sqrt(2 * mean));
    }
    return sum;
}

void give_to_idle(std::vector<double>& rows, double left) {
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rows[a] < rows[b]; });
    for (std::size_t i = 0; i < order.size() && static_cast<double>(i) + 0.5 < left; ++i) {
        rows[order[i]] += 1;
    }
}

/// Rows of `count` experts under a power law: quantiles scaled to add up to `total`, none above `most`.
std::vector<double> dealt(int count, double low, double high, double exponent, double total, double most) {
    std::vector<double> x = power_law_quantiles(count, low, high, exponent);
    for (int pass = 0; pass < 2; ++pass) {
        const double sum = std::accumulate(x.begin(), x.end(), 0.0);
        for (double& v : x) {
            v = std::min(v * total / sum, most);
        }
    }
    return x;
}

std::vector<double> rounded(std::vector<double> x) {
    for (double& v : x) {
        v = std::round(v);
    }
    return x;
}

}  // namespace

ExpertLoad uniform_load(double tokens, int experts, int local, int top_k) {
    const ExpertTraffic traffic = expert_traffic({}, local, experts, std::min(top_k, experts), tokens);
    const double mean = traffic.rows / local;
    ExpertLoad load;
    load.rows = traffic.rows;
    load.hit = traffic.hit;
    for (std::size_t i = 0; i < expert_tiles.size(); ++i) {
        load.tiles[i] = std::max(load.hit, local * mean_tiles(mean, expert_tiles[i]));
    }
    return load;
}

ExpertLoad touched_load(double hit, double rows) {
    ExpertLoad load;
    load.hit = hit;
    load.rows = rows;
    if (hit <= 0) return load;
    // An expert that was hit has mean / (1 - e^-mean) rows; the fixed point gives the mean over all of them.
    const double each = std::max(1.0, rows / hit);
    double mean = each;
    for (int i = 0; i < 30; ++i) mean = std::max(1e-9, -each * std::expm1(-mean));
    for (std::size_t i = 0; i < expert_tiles.size(); ++i)
        load.tiles[i] = hit * std::max(1.0, mean_tiles(mean, expert_tiles[i]) / -std::expm1(-mean));
    return load;
}

ExpertLoad balanced_load(double tokens, int experts, int local, int top_k) {
    const double each = tokens * top_k / experts;
    std::vector<double> rows(static_cast<std::size_t>(local), each);
    if (each < 1) {
        const double here = std::clamp(std::round(each * local), 1.0, static_cast<double>(local));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i] = static_cast<double>(i) + 0.5 < here ? 1 : 0;
        }
    }
    return of_rows(rows);
}

ExpertLoad power_law_load(double tokens, int experts, int local, int top_k, double exponent) {
    const double total = tokens * top_k;
    const bool many = total > experts;
    const double low = many ? 1 : kLeastPopular;
    const double high = many ? std::max(1.001, 0.8 * tokens) : kMostPopular;
    const auto all = dealt(experts, low, high, exponent, total, tokens);
    auto whole = rounded(all);
    const double left = total - std::accumulate(whole.begin(), whole.end(), 0.0);
    if (local >= experts) {
        give_to_idle(whole, left);
        return of_rows(whole);
    }
    const int groups = experts / local;
    auto first = rounded(dealt(local, low, high, exponent, total / groups, tokens));
    give_to_idle(first, left);

    const double mean = total / experts;
    double variance = 0;
    for (const double v : all) {
        variance += (v - mean) * (v - mean) / experts;
    }
    const double spread = std::sqrt(variance) / mean / std::sqrt(static_cast<double>(local));
    const double busiest = std::min(
        {(1 + largest_of(groups) * spread) * total / groups, tokens * std::min(top_k, local), total});
    if (std::accumulate(first.begin(), first.end(), 0.0) >= busiest) {
        return of_rows(first);
    }
    auto rows = rounded(dealt(local, low, high, exponent, busiest, tokens));
    give_to_idle(rows, busiest - std::accumulate(rows.begin(), rows.end(), 0.0));
    return of_rows(rows);
}

}  // namespace headroom
