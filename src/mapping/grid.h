// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/plan.h"

#include <functional>
#include <vector>

namespace headroom {

/// Blocks from..to-1 in launch order: the first loop over blocks is the slowest.
struct BlockRange {
    std::int64_t from = 0;
    std::int64_t to = 0;
};

/// A dimension may be cut over blocks twice (to launch them in square groups) if its outer tile divides it.
std::int64_t blocks(const Path& grid, Extents extents);

using TileWords = std::function<std::int64_t(const Extents&)>;

/// The sum of `words` over the distinct tiles that the blocks of an interval have of a tensor with these
/// dimensions: a tile that several blocks share counts once. Dimensions that the tensor lacks are given to
/// `words` as full tiles. The interval need not be rectangular in the grid.
std::int64_t sum_of_distinct(const Path& grid, const Extents& extents, BlockRange interval,
                             const DimensionSet& indexed, const TileWords& words);

}  // namespace headroom
