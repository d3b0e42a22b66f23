// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "perf/expert_load.h"
#include "perf/product_time.h"
#include "spec/ceilings.h"

namespace headroom {

/// How an engine picks tile shapes of grouped products.
enum class ExpertTiles { tuned, plain };

/// One of the two grouped products of a layer of experts: the rows of `load` by k x n for every expert hit.
struct GroupedShape {
    double n = 0;
    double k = 0;
    ProductKind kind = ProductKind::Half;
    double weight_element = 2;
    double input_element = 2;
    FlopRate peak;           ///< matrix rate of the computed type; zero: that of `kind`
    double passed_rows = 0;  ///< rows that the passes around the product go over; 0: the computed ones
    /// `plain`: the default tile of Triton's fused experts, 16 rows while tokens are fewer than experts,
    /// else 64.
    ExpertTiles tiles = ExpertTiles::tuned;
    bool few_tokens = false;  ///< fewer tokens than local experts
};

///   launch + overlap(waves step k, bytes / rate) + copies rows (k + n) / rate
KernelTime grouped_time(const GroupedShape& shape, const ExpertLoad& load, const Ceilings& ceilings);

}  // namespace headroom
