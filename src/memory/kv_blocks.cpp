// SPDX-License-Identifier: Apache-2.0
#include "memory/kv_blocks.h"

#include "memory/block_pool.h"

#include <algorithm>
#include <cmath>

namespace headroom {

KvBlocks kv_blocks(const Shard& shard, const Hardware& hardware, const Engine& engine) {
    Capacity c = capacity(shard, hardware, engine, 1);
    KvBlocks cache;
    cache.block_tokens = std::max<std::int64_t>(1, c.block_tokens);
    cache.uniform = std::all_of(c.kv.begin(), c.kv.end(), [](const KvLayers& part) {
        return part.law.cap == 0 && part.law.per_sequence == Bytes{};
    });
    cache.block_bytes = c.block_bytes;
    cache.total = c.blocks;
    // A model whose cache does not grow counts whole sequences.
    if (cache.block_bytes <= Bytes{}) {
        cache.block_bytes = c.per_sequence;
        cache.total = c.max_sequences / shard.deployment.dp;
    }
    const Bytes whole = Tokens(static_cast<double>(cache.block_tokens)) * growth(c.kv);
    cache.kept = std::max<std::int64_t>(1, std::llround(std::ceil(whole / cache.block_bytes * (1 - 1e-12))));
    cache.total *= shard.deployment.dp;
    cache.kv = std::move(c.kv);
    return cache;
}

std::int64_t blocks_of(const KvBlocks& cache, const Engine& engine, std::int64_t tokens) {
    if (cache.uniform) return blocks_for(tokens, cache.block_tokens);
    const double need = admitted_bytes(cache.kv, engine, static_cast<double>(tokens)) / cache.block_bytes;
    return static_cast<std::int64_t>(std::ceil(need * (1 - 1e-12)));
}

}  // namespace headroom
