// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/ledger.h"

namespace headroom {

/// The KV cache of a replica in the blocks of its engine, all data-parallel ranks together: windows and
/// states are counted in blocks too. Of the stage that binds.
struct KvBlocks {
    ModelKv kv;  ///< of one GPU
    std::int64_t total = 0;
    std::int64_t block_tokens = 1;
    Bytes block_bytes;      ///< on one GPU
    bool uniform = false;   ///< every block holds `block_tokens` tokens of all layers
    std::int64_t kept = 1;  ///< blocks of `block_tokens` tokens in the layers that keep all tokens
};
KvBlocks kv_blocks(const Shard& shard, const Hardware& hardware, const Engine& engine);

/// Blocks of one sequence of `tokens`.
std::int64_t blocks_of(const KvBlocks& cache, const Engine& engine, std::int64_t tokens);

}  // namespace headroom
