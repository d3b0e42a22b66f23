// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace headroom {

/// Mean and percentiles of a stream of positive values, each with a weight, in bounded memory: exact up to
/// `kExact` entries, then in bins of equal ratio, so that a percentile is within `kBinWidth` / 2 of the exact
/// one. Mean and maximum stay exact.
class Distribution {
  public:
    static constexpr std::size_t kExact = 50000;
    static constexpr double kBinWidth = 0.005;

    void add(double value, double weight = 1);
    double mean() const { return weight_ > 0 ? sum_ / weight_ : 0; }
    double max() const { return max_; }
    double weight() const { return weight_; }
    /// The smallest value at or below which `share` of the weight lies.
    double percentile(double share) const;
    bool exact() const { return bins_.empty(); }

  private:
    void to_bins();
    void add_to_bin(double value, double weight);

    mutable std::vector<std::pair<double, double>> entries_;
    mutable bool sorted_ = false;
    std::vector<double> bins_;
    double sum_ = 0, weight_ = 0, max_ = 0;
};

}  // namespace headroom
