// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/replay.h"

#include <unordered_map>

namespace headroom {

/// One step of a replay as it is averaged.
struct ReplayStep {
    Usage usage;
    std::int64_t sequences = 0;
    std::int64_t live = 0;  ///< tokens of all sequences
    double prefill = 0;     ///< prompt tokens that were read in this step
    bool waits = false;     ///< a request waits for memory
    std::int64_t completed = 0;
};

/// Time-weighted means over three spans that hold one another: all of it, the time under load, and the time
/// under load after as many sequences have ended as ran when load began (those all started at once). The
/// innermost that is not empty counts.
class ReplayAverage {
  public:
    explicit ReplayAverage(const ReplayCosts& costs) : costs_(costs) {}

    void add(const ReplayStep& step);
    void fill(ReplayResult& result) const;

  private:
    struct Sums {
        double time = 0, output = 0;  // time is in steps where there are no costs
        double used = 0, internal = 0, reservation = 0, external = 0, free = 0, cached = 0;
        double shared = 0, sequences = 0, live = 0;
    };
    double duration(const ReplayStep& step);
    void record(double used);

    ReplayCosts costs_;
    Sums all_, loaded_, settled_;
    std::int64_t region_ = 0;
    std::int64_t settled_at_ = -1;  // completions
    std::unordered_map<std::int64_t, double> step_time_, prefill_time_;
    static constexpr std::size_t kStretches = 128;
    std::vector<double> stretch_used_;
    std::int64_t stretch_ = 1, in_stretch_ = 0;  // steps
    double stretch_sum_ = 0;
};

}  // namespace headroom
