// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/workload_summary.h"

#include <cstdint>
#include <map>
#include <vector>

namespace headroom {

/// Exact counts of whole numbers from 0: a flat table for the usual lengths, a map for the rare huge ones.
class LengthCounts {
  public:
    void add(std::int64_t value, std::int64_t times = 1);
    std::int64_t total() const { return total_; }
    /// The value at `share` of the way from the smallest to the largest, between neighbours in proportion.
    double percentile(double share) const;
    /// The share of values that are at most `value`.
    double share_up_to(double value) const;
    LengthSummary summary() const;

  private:
    std::int64_t at_rank(std::int64_t rank) const;  // from 0

    static constexpr std::int64_t kFlat = std::int64_t{1} << 18;
    std::vector<std::int64_t> flat_;
    std::map<std::int64_t, std::int64_t> large_;
    std::int64_t total_ = 0;
};

}  // namespace headroom
