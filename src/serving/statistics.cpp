// SPDX-License-Identifier: Apache-2.0
#include "serving/statistics.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

// Bins from 1 ns to 1e9 s; what lies outside is counted at the ends.
constexpr double kLeast = 1e-9, kMost = 1e9;

std::size_t bin_of(double value) {
    const double clipped = std::clamp(value, kLeast, kMost);
    return static_cast<std::size_t>(std::log(clipped / kLeast) / std::log1p(Distribution::kBinWidth));
}

double middle(std::size_t bin) {
    return kLeast * std::pow(1 + Distribution::kBinWidth, static_cast<double>(bin) + 0.5);
}

}  // namespace

void Distribution::add(double value, double weight) {
    if (weight <= 0) return;
    sum_ += value * weight;
    weight_ += weight;
    max_ = std::max(max_, value);
    if (!bins_.empty()) return add_to_bin(value, weight);
    // Runs of equal values are common (steps of one shape).
    if (!entries_.empty() && !sorted_ && entries_.back().first == value) {
        entries_.back().second += weight;
        return;
    }
    entries_.emplace_back(value, weight);
    sorted_ = false;
    if (entries_.size() > kExact) to_bins();
}

void Distribution::to_bins() {
    bins_.assign(bin_of(kMost) + 1, 0.0);
    for (const auto& [value, weight] : entries_) add_to_bin(value, weight);
    entries_ = {};
}

void Distribution::add_to_bin(double value, double weight) { bins_[bin_of(value)] += weight; }

double Distribution::percentile(double share) const {
    if (weight_ <= 0) return 0;
    // Rounding guard: 0.99 of 100 entries is the 99th, not the 100th.
    const double wanted = share * weight_ * (1 - 1e-12);
    double below = 0;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
        below += bins_[i];
        if (below >= wanted && bins_[i] > 0) return std::min(max_, middle(i));
    }
    if (!bins_.empty()) return max_;
    if (!sorted_) std::sort(entries_.begin(), entries_.end());
    sorted_ = true;
    for (const auto& [value, weight] : entries_) {
        below += weight;
        if (below >= wanted) return value;
    }
    return max_;
}

}  // namespace headroom
