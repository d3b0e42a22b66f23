// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/visits.h"

#include <vector>

namespace headroom {

/// What passes between HBM and L2 in one kernel, by tensor (words).
///
/// Blocks start in launch order, `wave` at a time, and the blocks of a wave run in step. L2 then serves
/// three kinds of reuse, each of which is counted exactly:
/// - blocks of one wave that want the same tile get it from one read (multicast);
/// - a block that comes back to a tile finds it, if all that the first wave touches in one turn of the loop
///   in between fits into L2;
/// - when all that a wave touches in its life fits, the next waves find what the last ones left: as many
///   waves back as fit together, taking the first waves as the measure.
/// Tiles are the unit: overlapping tiles (convolution halos) are not merged.
struct CacheTraffic {
    std::vector<Moved> words;
    std::int64_t waves_kept = 0;  ///< earlier waves whose data a wave still finds
    std::int64_t l2_bytes = 0;    ///< what the first wave touches at once
};

CacheTraffic cache_traffic(const NestPlan& plan, const MappedComputation& nest, std::size_t kernel,
                           std::int64_t wave, std::int64_t l2_bytes);

/// Bytes of `words` words, rounded up.
std::int64_t word_bytes(std::int64_t words, ElementType type);

}  // namespace headroom
