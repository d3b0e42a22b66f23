// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/visits.h"

#include <vector>

namespace headroom {

struct SharedCache {
    std::int64_t bytes = 0;
    std::int64_t copies = 1;  ///< that it holds of a tile that several blocks read
    double uneven = 0;        ///< standard deviation of the time of equal blocks, over that time
};

/// What passes between HBM and L2 in one kernel, by tensor (words).
///
/// Blocks start in launch order, `wave` at a time, and the blocks of a wave run in step. L2 then serves these
/// kinds of reuse, each of which is counted exactly:
/// - blocks of one wave that want the same tile get it from one read (multicast);
/// - a block that comes back to a tile finds it, if all that the first wave touches in one turn of the loop
///   in between fits into L2;
/// - when all that a wave touches in its life fits, it finds what the waves before have left: as many
///   waves back as fit together.
/// - when all that a wave touches in one turn of a loop fits, the next wave finds what every turn comes to;
/// - blocks are unequal in length by the share `uneven`, so the starts of a wave spread, with the square root
///   of the waves before it, and in launch order. A tile that blocks near the end of one
///   wave and near the start of the next come to is left alone only for the rest of a life, and is found if
///   what is touched in that rest fits;
/// - a nest finds what the nest before it has read, if what both touch fits.
/// Tiles are the unit: overlapping tiles (convolution halos) are not merged.
struct CacheTraffic {
    std::vector<Moved> words;
    std::int64_t waves_kept = 0;  ///< earlier waves whose data a wave still finds, at most
    std::int64_t l2_bytes = 0;    ///< what the first wave touches at once, without copies
};

CacheTraffic cache_traffic(const NestPlan& plan, const MappedComputation& nest, std::size_t kernel,
                           std::int64_t wave, const SharedCache& cache);

/// Bytes of `words` words, rounded up.
std::int64_t word_bytes(std::int64_t words, ElementType type);

}  // namespace headroom
