// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/analysis.h"

namespace headroom {

/// Expected time and bound of one kernel from its counts: the longest of products, vector work, HBM, L2 and
/// SRAM traffic at rates that are reached, the last round's idle SMs included; and a launch.
void expect_time(const MappedComputation& nest, const MappingDevice& device, std::size_t kernel,
                 KernelAnalysis& analysis);

/// A lower bound of the expected time that no loop order changes: work, idle SMs, and the words of each
/// tensor that no L2 can save.
Seconds least_expected(const MappedComputation& nest, const NestPlan& plan, const MappingDevice& device,
                       std::size_t kernel, const Placed& placed);

/// Floors, and the sums over the kernels. Floor of a kernel: its products at the dense peak, or the bytes
/// that must come from HBM however well L2 does (inputs not seen before, and of all else what L2 cannot
/// hold), whichever takes longer.
void time_kernels(const MappedComputation& nest, const MappingDevice& device, Analysis& analysis);

}  // namespace headroom
