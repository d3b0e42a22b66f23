// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "perf/ceilings.h"
#include "perf/expert_load.h"
#include "perf/product_time.h"

namespace headroom {

/// A layer of experts on one device: `hidden` to `inter` (this device's part) and back.
struct ExpertsShape {
    double tokens = 0;        ///< tokens routed, all of those that this device sees
    double top_k = 1;
    double local_experts = 1;
    double hidden = 0;
    double inter = 0;
    bool gated = true;        ///< two products up (gate and up), else one
    ProductKind kind = ProductKind::Half;
    double weight_element = 2;
    double input_element = 2;
    bool tuned = true;        ///< tile shapes chosen for this shape; else the engine's default tile
};

/// Routing, the two grouped products over the experts that were hit, and the weighted sum:
///   launch + sum over both products of overlap(q step k, bytes / rate) + copies rows / rate
/// Passes outside the products go over every row that was routed, also rows whose expert is elsewhere.
KernelTime experts_time(const ExpertsShape& shape, const ExpertLoad& load, const Ceilings& ceilings);

}  // namespace headroom
