// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flash_attention/flash_block.cuh"

// The portable path (sm_80 on): mma.sync and cp.async. Warps share a tile of query rows; K and V tiles are
// double-buffered, so that a step has one barrier and the next tiles arrive behind its products. Two blocks
// on a multiprocessor overlap one's softmax with the other's products.

namespace headroom::kernels {

template <class T, class Tile, int D, bool Causal>
__global__ void __launch_bounds__(Tile::kWarps * 32, Tile::kBlocks) flash_kernel(const FlashParameters p) {
    extern __shared__ __align__(1024) unsigned char shared[];
    using Block = FlashBlock<T, Tile, D, Causal>;
    constexpr int kRowTiles = Tile::kRowTiles;
    const Block block(p, shared);
    block.copy_queries();
    block.copy_tile(0);

    const int lane = threadIdx.x % 32;
    const int warp_row = threadIdx.x / 32 * kRowTiles * 16;
    const auto query = [&](int k, std::uint32_t(&a)[kRowTiles][4]) {
        block.load_query(a, warp_row, k, lane);
    };
    OnlineSoftmax<T, D, kRowTiles> state;
    for (int tile = 0; tile < block.tiles; ++tile) {
        wait_for_copies<0>();
        __syncthreads();
        if (tile + 1 < block.tiles) block.copy_tile(tile + 1);
        const int token = tile * Tile::kTokens;
        if (Causal && block.limit(warp_row + kRowTiles * 16 - 1, token) <= 0) continue;
        float s[kRowTiles][Tile::kTokens / 8][4] = {};
        state.template scores<Block::kPairBytes>(s, query, block.key_tiles + Block::place(tile), lane);
        if (block.limit(warp_row, token) < Tile::kTokens) {
            state.mask(
                s, [&](int m, int r) { return block.limit(warp_row + m * 16 + r * 8 + lane / 4, token); },
                lane);
        }
        state.soften(s, p.scale_log2);
        state.template accumulate<Block::kPairBytes>(s, block.value_tiles + Block::place(tile), lane);
    }

#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = warp_row + m * 16 + r * 8 + lane / 4;
            const float inverse = 1 / state.total(m, r);
            if (block.first_row + row >= block.query_tokens) continue;
            store_row(block.output + std::int64_t(row) * D, state.output[m], r, inverse, lane);
        }
    }
}

}  // namespace headroom::kernels
