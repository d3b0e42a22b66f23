// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flash_attention/flash_block.cuh"

// Heads of 256 leave one warp the registers for 16 query rows, and then reading K and V from shared memory
// takes longer than their products. Here two warps share 32 rows: each scores half of a tile's tokens, they
// exchange the rows' maxima and the probabilities, and each adds up half of the output's columns.

namespace headroom::kernels {

__device__ inline void wait_for_pair(int pair) {
    asm volatile("bar.sync %0, 64;" ::"r"(1 + pair) : "memory");  // barrier 0 is the whole block's
}

// The other half's values of a pair's 16 M rows; `place`: [half][row of the pair].
template <int Rows, int M>
__device__ void exchange(float (&theirs)[M][2], const float (&mine)[M][2], float (&place)[2][Rows], int pair,
                         int half, int lane) {
    const int first = pair * M * 16 + lane / 4;
#pragma unroll
    for (int m = 0; m < M; ++m) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            if (lane % 4 == 0) place[half][first + m * 16 + r * 8] = mine[m][r];
        }
    }
    wait_for_pair(pair);
#pragma unroll
    for (int m = 0; m < M; ++m) {
#pragma unroll
        for (int r = 0; r < 2; ++r) theirs[m][r] = place[1 - half][first + m * 16 + r * 8];
    }
}

template <class T, class Tile, int D, bool Causal>
__global__ void __launch_bounds__(Tile::kWarps * 32, Tile::kBlocks)
    flash_pair_kernel(const FlashParameters p) {
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ float row_values[2][Tile::kRows];  // one of each half: first maxima, at the end sums
    using Block = FlashBlock<T, Tile, D, Causal>;
    constexpr int kRowTiles = Tile::kRowTiles;
    constexpr int kHalfTokens = Tile::kTokens / 2;
    constexpr int kHalfPairs = kHalfTokens / 16;
    constexpr int kChunks = Tile::kTokens / 8;  // of a row of probabilities
    const Block block(p, shared);
    block.copy_queries();
    block.copy_tile(0);

    const int lane = threadIdx.x % 32;
    const int pair = threadIdx.x / 64, half = threadIdx.x / 32 % 2;
    const int pair_row = pair * kRowTiles * 16;
    const auto query = [&](int k, std::uint32_t(&a)[kRowTiles][4]) {
        block.load_query(a, pair_row, k, lane);
    };
    const auto row_of = [&](int m, int r) { return pair_row + m * 16 + r * 8 + lane / 4; };
    OnlineSoftmax<T, D, kRowTiles, D / 2> state;
    for (int tile = 0; tile < block.tiles; ++tile) {
        wait_for_copies<0>();
        __syncthreads();
        if (tile + 1 < block.tiles) block.copy_tile(tile + 1);
        const int token = tile * Tile::kTokens;
        if (Causal && block.limit(pair_row + kRowTiles * 16 - 1, token) <= 0) continue;
        float s[kRowTiles][kHalfTokens / 8][4] = {};
        const std::uint32_t half_keys =
            block.key_tiles + Block::place(tile) + half * kHalfPairs * Block::kPairBytes;
        state.template scores<Block::kPairBytes>(s, query, half_keys, lane);
        if (block.limit(pair_row, token) < Tile::kTokens) {
            state.mask(
                s, [&](int m, int r) { return block.limit(row_of(m, r), token + half * kHalfTokens); }, lane);
        }
        float seen[kRowTiles][2], other[kRowTiles][2];
        state.largest_seen(seen, s);
        exchange(other, seen, row_values, pair, half, lane);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
            for (int r = 0; r < 2; ++r) seen[m][r] = fmaxf(seen[m][r], other[m][r]);
        }
        state.soften(s, seen, p.scale_log2);

        std::uint32_t own[kHalfPairs][kRowTiles][4];
#pragma unroll
        for (int i = 0; i < kHalfPairs; ++i) {
            state.pack_pair(own[i], s, i);
#pragma unroll
            for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int chunk = (half * kHalfPairs + i) * 2 + j / 2;
                    const std::uint32_t at =
                        block.end_of_tiles + swizzled<kChunks>(row_of(m, j % 2), chunk) + lane % 4 * 4;
                    asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(own[i][m][j]) : "memory");
                }
            }
        }
        const std::uint32_t tile_values = block.value_tiles + Block::place(tile);
        const int first_chunk = half * (D / 16);
#pragma unroll
        for (int i = 0; i < kHalfPairs; ++i) {
            state.accumulate_pair(own[i], tile_values + (half * kHalfPairs + i) * Block::kPairBytes, lane,
                                  first_chunk);
        }
        wait_for_pair(pair);
#pragma unroll
        for (int i = 0; i < kHalfPairs; ++i) {
            const int of_tile = (1 - half) * kHalfPairs + i;
            std::uint32_t theirs[kRowTiles][4];
#pragma unroll
            for (int m = 0; m < kRowTiles; ++m) {
                load_matrix(theirs[m], block.end_of_tiles + swizzled<kChunks>(pair_row + m * 16 + lane % 16,
                                                                              of_tile * 2 + lane / 16));
            }
            state.accumulate_pair(theirs, tile_values + of_tile * Block::kPairBytes, lane, first_chunk);
        }
    }

    float totals[kRowTiles][2], others[kRowTiles][2];
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int r = 0; r < 2; ++r) totals[m][r] = state.total(m, r);
    }
    exchange(others, totals, row_values, pair, half, lane);
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            if (block.first_row + row_of(m, r) >= block.query_tokens) continue;
            T* row = block.output + std::int64_t(row_of(m, r)) * D + half * (D / 2);
            store_row(row, state.output[m], r, 1 / (totals[m][r] + others[m][r]), lane);
        }
    }
}

}  // namespace headroom::kernels
