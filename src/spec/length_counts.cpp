// SPDX-License-Identifier: Apache-2.0
#include "spec/length_counts.h"

#include <algorithm>
#include <cmath>

namespace headroom {

void LengthCounts::add(std::int64_t value, std::int64_t times) {
    total_ += times;
    if (value >= kFlat || value < 0) {
        large_[value] += times;
        return;
    }
    const auto at = static_cast<std::size_t>(value);
    if (at >= flat_.size()) flat_.resize(std::max<std::size_t>(2 * flat_.size(), at + 1));
    flat_[at] += times;
}

std::int64_t LengthCounts::at_rank(std::int64_t rank) const {
    std::int64_t seen = 0;
    for (std::size_t value = 0; value < flat_.size(); ++value) {
        seen += flat_[value];
        if (seen > rank) return static_cast<std::int64_t>(value);
    }
    for (const auto& [value, times] : large_) {
        seen += times;
        if (seen > rank) return value;
    }
    return 0;
}

double LengthCounts::percentile(double share) const {
    if (total_ == 0) return 0;
    const double place = share * static_cast<double>(total_ - 1);
    const auto rank = static_cast<std::int64_t>(place);
    const auto low = static_cast<double>(at_rank(rank));
    if (rank + 1 >= total_) return low;
    const auto high = static_cast<double>(at_rank(rank + 1));
    return low + (place - static_cast<double>(rank)) * (high - low);
}

double LengthCounts::share_up_to(double value) const {
    std::int64_t seen = 0;
    for (std::size_t v = 0; v < flat_.size() && static_cast<double>(v) <= value; ++v) seen += flat_[v];
    for (const auto& [v, times] : large_) {
        if (static_cast<double>(v) <= value) seen += times;
    }
    return total_ > 0 ? static_cast<double>(seen) / static_cast<double>(total_) : 0;
}

LengthSummary LengthCounts::summary() const {
    if (total_ == 0) return {};
    const auto n = static_cast<double>(total_);
    const auto over_all = [&](const auto& term) {
        double sum = 0;
        for (std::size_t value = 0; value < flat_.size(); ++value) {
            if (flat_[value] > 0) sum += static_cast<double>(flat_[value]) * term(static_cast<double>(value));
        }
        for (const auto& [value, times] : large_) {
            sum += static_cast<double>(times) * term(static_cast<double>(value));
        }
        return sum;
    };
    LengthSummary s;
    s.mean = over_all([](double v) { return v; }) / n;
    s.deviation = std::sqrt(over_all([&](double v) { return (v - s.mean) * (v - s.mean); }) / n);
    s.p50 = percentile(0.5);
    s.p90 = percentile(0.9);
    s.p99 = percentile(0.99);
    s.max = percentile(1.0);
    return s;
}

}  // namespace headroom
