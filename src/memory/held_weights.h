// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/shard.h"
#include "spec/engine.h"
#include "spec/hardware.h"

#include <cstddef>

namespace headroom {

/// What one GPU of a stage holds for the sake of the weights, in bytes.
struct HeldWeights {
    Bytes stored;     ///< as the checkpoint has them
    Bytes experts;    ///< what the engine's kernels pad experts by
    Bytes allocator;  ///< ends of blocks that the allocator does not split off
    Bytes positions;  ///< tables of sines and cosines
};

constexpr Bytes padding(const HeldWeights& held) { return held.experts + held.allocator + held.positions; }

HeldWeights held_weights(const Shard& shard, std::size_t stage, const Hardware& hardware,
                         const Engine& engine);

/// Bytes that an allocator with this granule keeps beyond `size` for one tensor: tensors from five granules
/// on take whole granules, and the rest of the last one is split off when it is more than half of it.
/// Source: PyTorch's CUDA caching allocator (kMinLargeAlloc 10 MiB, kRoundLarge 2 MiB, kSmallSize 1 MiB).
Bytes unsplit_end(Bytes size, Bytes granule);

}  // namespace headroom
