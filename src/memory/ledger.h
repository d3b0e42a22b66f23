// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/grouped.h"
#include "ops/shard.h"
#include "spec/engine.h"
#include "spec/hardware.h"

#include <cstdint>
#include <string>

namespace headroom {

/// One GPU's memory, every byte attributed: weights + activations + runtime + kv = usable, and usable +
/// reserve = device. When the weights alone are too large, `kv` is negative: what is missing.
struct Ledger {
    Bytes device;
    Bytes usable;
    Bytes weights;
    Bytes padding;  ///< of `weights`: what is held beyond the checkpoint's bytes
    Bytes activations;
    Bytes runtime;
    Bytes kv;
};

/// Of the stage with the least room for KV.
Ledger ledger(const Shard& shard, std::size_t stage, const Hardware& hardware, const Engine& engine);

/// The layout of the pool that a model's layers share under this engine: one group where they are alike or
/// the engine does not group them.
PageLayout engine_layout(const ModelKv& kv, const Engine& engine);

/// KV of a whole deployment at one context.
struct Capacity {
    Ledger ledger;  ///< of the stage that binds
    ModelKv kv;     ///< of one GPU of that stage
    std::int64_t block_tokens = 1;
    std::int64_t blocks = 0;  ///< of the pool, one GPU
    Bytes block_bytes;        ///< of one of them
    int groups = 1;           ///< groups of layers that share the pool
    std::int64_t capacity_tokens = 0;
    Bytes per_sequence;  ///< what the engine sets aside for one sequence of that context on one GPU
    std::int64_t max_sequences = 0;  ///< of the deployment: data-parallel ranks add up
};
Capacity capacity(const Shard& shard, const Hardware& hardware, const Engine& engine, double context);

/// Bytes that the engine sets aside for one sequence: whole blocks, windows as the engine admits them,
/// states.
Bytes admitted_bytes(const ModelKv& kv, const Engine& engine, double context);

}  // namespace headroom
