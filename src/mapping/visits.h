// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/plan.h"

#include <span>

namespace headroom {

/// Words moved into a buffer while the loops outside it run.
struct Visits {
    std::int64_t loads = 0;  ///< the first time round
    std::int64_t again =
        0;  ///< when the same loops run once more right after: less, where a tile is still held
};

/// A buffer holds one tile and is loaded when the tile changes. Loops over time that the tensor does not
/// index leave its tile where it is; every block and every warp has a buffer of its own. Exact for any
/// nesting and for tiles that do not divide their dimensions: full and last tiles are followed apart.
Visits visits(std::span<const Step> steps, std::span<const Access> accesses, const DimensionSet& indexed,
              const Extents& extents);

/// Words of the distinct tiles among those visits: each once for every block that keeps a copy.
std::int64_t first_visits(std::span<const Step> steps, std::span<const Access> accesses,
                          const DimensionSet& indexed, const Extents& extents);

/// Traffic between a buffer and what it is filled from. A tile that is accumulated is not read the first
/// time.
struct Moved {
    std::int64_t reads = 0;
    std::int64_t writes = 0;
};
Moved moved(std::span<const Step> steps, const Buffer& buffer, const Extents& extents);

}  // namespace headroom
