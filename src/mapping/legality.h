// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/plan.h"

#include <string>
#include <vector>

namespace headroom {

/// Why a mapping does not compute what its computation says, each reason in a sentence; empty when it does.
/// Checked are: every statement runs once, on operands that are held where it runs; blocks and warps do not
/// race on a sum; nothing is read before it is final, unless its reduction is streamable and what depends on
/// it is rescaled; what never goes to HBM is made and used within one tile.
std::vector<std::string> mapping_faults(const MappedComputation& nest);
std::vector<std::string> mapping_faults(const MappedComputation& nest, const NestPlan& plan);

}  // namespace headroom
