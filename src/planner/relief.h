// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/plan.h"

#include <vector>

namespace headroom {

/// What each resource, doubled by itself, does to the rate that a replica of this candidate sustains; largest
/// first.
std::vector<Relief> relief(const PlanInputs& inputs, const Candidate& candidate);

}  // namespace headroom
