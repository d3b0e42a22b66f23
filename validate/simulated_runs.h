// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/serving_cases.h"

#include <vector>

namespace headroom {

/// A co-located run, run request by request: `concurrency` clients, each of which sends its next request when
/// one ends.
struct SimulatedRun {
    const ServingRun* run = nullptr;
    Seconds ttft, tpot;  ///< means of the simulation
    Seconds steady_ttft, steady_tpot;
    double tokens_per_s = 0;           ///< generated, of the simulation
    double measured_tokens_per_s = 0;  ///< concurrency x output / (TTFT + (output - 1) TPOT)
};

/// Every so-many-th of the runs that `add_serving` counts, in their order.
std::vector<SimulatedRun> simulated_runs(const std::vector<ServingRun>& runs, const Profiles& profiles,
                                         int every);

}  // namespace headroom
