// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/nest.h"

#include <cstdint>
#include <set>
#include <vector>

namespace headroom {

using TileValues = std::vector<std::int64_t>;

/// What a tile factor may be: granule times 2^k and 3 x 2^k, and the largest dimension that it cuts; what it
/// is if it is not searched.
TileValues tile_values(const MappedComputation& nest, std::size_t factor);

/// Those that cut loops of this nest and of those inside.
std::set<std::size_t> tile_factors(const Nest& nest);

/// Every way to order neighbouring loops of one binding, in this nest and those inside. Loops of one
/// dimension keep their order, and loops over warps stay where they are.
std::vector<Nest> loop_orders(const Nest& nest);

/// Dimensions of the loops over time in the order in which they stand: all that matters on the chip.
std::vector<int> time_order(const Nest& nest);

}  // namespace headroom
