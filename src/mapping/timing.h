// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/analysis.h"

namespace headroom {

/// Fills in floor, expected time and bound of each kernel and of the whole, from the counts that are there.
///
/// Floor of a kernel: its products at the dense peak, or the bytes that must come from HBM however well L2
/// does: inputs not seen before, and of all else what L2 cannot hold; whichever takes longer.
/// Expected: the longest of products, vector work, HBM, L2 and SRAM traffic at rates that are reached, the
/// last wave's idle SMs included; and a launch.
void time_kernels(const MappedComputation& nest, const MappingDevice& device, Analysis& analysis);

}  // namespace headroom
