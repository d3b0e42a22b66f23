// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/analysis.h"

namespace headroom {

/// How far a search may go. Counted in analyses of one kernel, so that it takes the same course everywhere.
struct SearchLimit {
    std::int64_t analyses = 1000;
};

struct SearchResult {
    bool found = false;  ///< some tiling fits the device
    Mapping best;
    Analysis analysis;
    std::int64_t tilings = 0;    ///< in the search space, times the orders of loops
    std::int64_t too_large = 0;  ///< of the tilings: no room in SRAM or registers
    std::int64_t analysed = 0;   ///< kernels whose traffic was counted
    bool proven = false;         ///< no tiling of the space is expected to be faster
    Seconds bound;               ///< none of the tilings that were left out is faster than this
    double gap = 0;              ///< (expected - bound) / expected; 0 when proven
};

/// The tiles and loop orders of least expected time; among equals, of least traffic between L2 and the SMs.
/// Starts from the tiles that were given. Tiles are granule times powers of two up to the dimension they cut;
/// orders are those of neighbouring loops over blocks and of neighbouring loops over time. Best first by a
/// bound from work, compulsory traffic and idle SMs alone, so that the search ends as soon as the bound of
/// what is left exceeds the best.
SearchResult search(const MappedComputation& nest, const MappingDevice& device, SearchLimit limit = {});

}  // namespace headroom
