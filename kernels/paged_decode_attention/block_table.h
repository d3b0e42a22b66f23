// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace headroom::kernels {

// Logical blocks to physical ones, as a serving engine that has run for a while would have them.
struct BlockTable {
    std::vector<int> entries;  // [sequence][stride]; -1 past a sequence's last block
    int stride = 0;
    int blocks = 0;  // physical blocks in use, numbered below `pool_blocks`
    int pool_blocks = 0;
};

// Blocks in random order over a pool of `pool_blocks` (at least the blocks needed). All sequences share the
// physical blocks of their first `shared_blocks` logical blocks. `spare_entries` more columns are padding.
BlockTable make_block_table(const std::vector<int>& lengths, int block_tokens, int pool_blocks,
                            int shared_blocks, int spare_entries, std::uint64_t seed);

// Physical blocks that make_block_table takes.
int blocks_needed(const std::vector<int>& lengths, int block_tokens, int shared_blocks);

}  // namespace headroom::kernels
