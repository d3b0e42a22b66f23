// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/step.h"
#include "perf/operator_time.h"
#include "spec/engine.h"

#include <vector>

namespace headroom {

/// One step of one replica (of one data-parallel rank), all pipeline stages passed through once.
struct StepTime {
    TimeEstimate time;                  ///< the floor takes totals: operators may overlap
    TimeShares shares;                  ///< of `time.expected`
    TimeShares floor_shares;            ///< of `time.floor`: in each stage its largest term is all of it
    Bound bound = Bound::memory;        ///< the largest of `shares`
    Bound floor_bound = Bound::memory;  ///< the largest of `floor_shares`
    Work work;                          ///< of one GPU, summed over the stages
    FlopRate peak;                      ///< dense peak of the type that most operations are computed in
    Seconds
        slowest_stage;  ///< expected time of the slowest stage: with many batches in flight, one leaves each
    Interval tokens{1, 1, 1, ""};  ///< that a decoding sequence gains: more than one where it speculates
};

/// Where the model's routing is not uniform, the interval spans both that routing and uniform routing.
StepTime step_time(const Shard& shard, const Batch& batch, const Hardware& hardware, const Engine& engine);

/// What a step of `batch` takes when its device part takes `device`: the host's expected time on top, as far
/// as it does not overlap.
Seconds with_host(Seconds device, const Batch& batch, const Engine& engine);

/// The same engine with a host that takes no time: `step_time` then gives the device part alone.
Engine without_host(Engine engine);

}  // namespace headroom
