// SPDX-License-Identifier: Apache-2.0
#include "paged_decode_attention/block_table.h"

#include "common/error.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace headroom::kernels {

namespace {
int blocks_of(int length, int block_tokens) { return (length + block_tokens - 1) / block_tokens; }
}  // namespace

int blocks_needed(const std::vector<int>& lengths, int block_tokens, int shared_blocks) {
    int own = 0, shared = 0;
    for (const int length : lengths) {
        const int blocks = blocks_of(length, block_tokens);
        own += std::max(0, blocks - shared_blocks);
        shared = std::max(shared, std::min(blocks, shared_blocks));
    }
    return own + shared;
}

BlockTable make_block_table(const std::vector<int>& lengths, int block_tokens, int pool_blocks,
                            int shared_blocks, int spare_entries, std::uint64_t seed) {
    BlockTable table;
    table.blocks = blocks_needed(lengths, block_tokens, shared_blocks);
    table.pool_blocks = pool_blocks;
    HEADROOM_REQUIRE(table.blocks <= pool_blocks, "block table: the pool is too small");
    std::vector<int> order(static_cast<std::size_t>(pool_blocks));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    const int longest = *std::max_element(lengths.begin(), lengths.end());
    table.stride = blocks_of(longest, block_tokens) + spare_entries;
    table.entries.assign(lengths.size() * static_cast<std::size_t>(table.stride), -1);
    std::size_t next = static_cast<std::size_t>(std::min(shared_blocks, blocks_of(longest, block_tokens)));
    for (std::size_t sequence = 0; sequence < lengths.size(); ++sequence) {
        int* row = table.entries.data() + sequence * static_cast<std::size_t>(table.stride);
        for (int block = 0; block < blocks_of(lengths[sequence], block_tokens); ++block) {
            row[block] = block < shared_blocks ? order[static_cast<std::size_t>(block)] : order[next++];
        }
    }
    return table;
}

}  // namespace headroom::kernels
