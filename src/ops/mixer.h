// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/kv_law.h"
#include "ops/tensor.h"
#include "ops/work.h"

#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// What a mixer's core (all but its projections) needs to know of the model around it.
struct MixerContext {
    StorageFormat kv;  ///< how the cache is stored
    ElementType activation = ElementType::bf16;
    std::int64_t hidden = 0;  ///< width of the model
    StorageFormat weights{};  ///< of this layer's attention
};

/// Each kind of mixer is one file in `mixers/` with these six functions; `mixer.cpp` lists the kinds.

/// Weights of one layer's mixer.
std::vector<Tensor> tensors(const Mixer& mixer, std::int64_t hidden);

/// What a sequence keeps in memory for this layer.
KvLaw kv_law(const Mixer& mixer, const StorageFormat& kv);

/// The part that one of `tp` GPUs holds. Key-value heads are replicated when tp exceeds them.
Mixer shard(const Mixer& mixer, int tp);

/// Why the mixer cannot be cut into `tp` parts, or "".
std::string shard_fault(const Mixer& mixer, int tp);

/// The operators of the core for one layer: attention over the cache, state updates.
std::vector<Operator> core(const Mixer& mixer, const Batch& batch, const MixerContext& context);

/// "gqa", "mla", "window", ... as printed.
std::string kind_name(const Mixer& mixer);

}  // namespace headroom
