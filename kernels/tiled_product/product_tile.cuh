// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/async_copy.cuh"
#include "common/mma.cuh"
#include "tiled_product/product_cut.h"

#include <cstdint>

// A block's tile of x w^T, x [tokens][depth] and w [columns][depth], by mma.sync from a ring of shared-memory
// stages that cp.async fills (sm_80 on). A warp owns 64 tokens x 32 columns, of each weight where there are
// two.

namespace headroom::kernels {

using Bf16 = __nv_bfloat16;

template <int Columns, int Weights>
struct ProductTile {
    static constexpr int kColumns = Columns;
    static constexpr int kWeights = Weights;
    static constexpr int kColumnWarps = Columns / 32;
    static constexpr int kThreads = kTileTokens / 64 * kColumnWarps * 32;
    // As many as the registers hold: 64 sums a thread and weight, and what it takes to make them.
    static constexpr int kBlocks = Weights == 1 ? 2 : 3;
    static constexpr int kRowBytes = kTileDepth * 2;
    static constexpr int kInputBytes = kTileTokens * kRowBytes;
    static constexpr int kWeightBytes = Columns * kRowBytes;
    static constexpr int kStageBytes = kInputBytes + Weights * kWeightBytes;
    static constexpr int kSharedBytes = kTileBuffers * kStageBytes;

    using Sums = float[Weights][4][4][4];  // weight, 16 tokens, 8 columns, the lane's four of them

    // The warp's first token and first column in the tile.
    __device__ static int warp_token(int warp) { return warp / kColumnWarps * 64; }
    __device__ static int warp_column(int warp) { return warp % kColumnWarps * 32; }
};

// Byte offset of a 16-byte chunk in a tile of rows of 64 bytes. Two rows span the banks; the exclusive or
// spreads the eight rows that one ldmatrix reads over all of them.
__device__ constexpr std::uint32_t in_stage(int row, int chunk) {
    return static_cast<std::uint32_t>(row * 64 + ((chunk ^ ((row >> 1) & 3)) << 4));
}

// `Rows` rows from `source` on, columns `at` .. at + 31; zeros past `rows` and past the row's end.
template <int Rows, int Threads, Reuse R = Reuse::kMany>
__device__ void copy_stage(std::uint32_t shared, const Bf16* source, int rows, int depth, int at) {
    constexpr int kChunks = kTileDepth / 8;
    static_assert(Rows * kChunks % Threads == 0);
#pragma unroll
    for (int i = 0; i < Rows * kChunks / Threads; ++i) {
        const int row = (i * Threads + static_cast<int>(threadIdx.x)) / kChunks;
        const int chunk = static_cast<int>(threadIdx.x) % kChunks;
        const bool valid = row < rows && at + chunk * 8 < depth;
        copy_16_async<R>(shared + in_stage(row, chunk), source + (valid ? row * depth + at + chunk * 8 : 0),
                         valid);
    }
}

template <class Tile>
__device__ void multiply_stage(typename Tile::Sums& sums, std::uint32_t stage, int warp, int lane) {
    const int token = Tile::warp_token(warp) + lane % 16;
    const int column = Tile::warp_column(warp) + (lane / 16) * 8 + lane % 8;
#pragma unroll
    for (int k = 0; k < kTileDepth / 16; ++k) {
        std::uint32_t a[4][4];
#pragma unroll
        for (int m = 0; m < 4; ++m) load_matrix(a[m], stage + in_stage(token + m * 16, k * 2 + lane / 16));
#pragma unroll
        for (int w = 0; w < Tile::kWeights; ++w) {
            const std::uint32_t weights = stage + Tile::kInputBytes + w * Tile::kWeightBytes;
#pragma unroll
            for (int pair = 0; pair < 2; ++pair) {
                std::uint32_t b[4];
                load_matrix(b, weights + in_stage(column + pair * 16, k * 2 + (lane / 8) % 2));
#pragma unroll
                for (int m = 0; m < 4; ++m) {
                    mma<Bf16>(sums[w][m][pair * 2], a[m], b[0], b[1]);
                    mma<Bf16>(sums[w][m][pair * 2 + 1], a[m], b[2], b[3]);
                }
            }
        }
    }
}

// Runs `copy(stage)` for each step ahead of `multiply(stage)`; on return no copy is on its way.
template <class Tile, class Copy, class Multiply>
__device__ void run_stages(std::uint32_t shared, int steps, Copy&& copy, Multiply&& multiply) {
    const auto stage_of = [&](int step) { return shared + step % kTileBuffers * Tile::kStageBytes; };
#pragma unroll
    for (int step = 0; step < kTileBuffers - 1; ++step) {
        if (step < steps) copy(stage_of(step));
        commit_copies();
    }
    for (int step = 0; step < steps; ++step) {
        wait_for_copies<kTileBuffers - 2>();
        __syncthreads();
        if (step + kTileBuffers - 1 < steps) copy(stage_of(step + kTileBuffers - 1));
        commit_copies();
        multiply(stage_of(step));
    }
    wait_for_copies<0>();
}

// Where a block stands: all columns of one group of tokens come before the next group, and the tokens of a
// group are neighbours (`blocks t by group, blocks COLUMNS, blocks t by 128` of the mappings).
struct BlockPlace {
    int token_tile, column_tile;
};
__device__ inline BlockPlace block_place(int block, int token_tiles, int column_tiles, int group_tiles) {
    const int group = block / (group_tiles * column_tiles);
    const int in_group = block - group * group_tiles * column_tiles;
    const int tiles = min(group_tiles, token_tiles - group * group_tiles);
    return {group * group_tiles + in_group % tiles, in_group / tiles};
}

constexpr int tiles_of(int count, int tile) { return (count + tile - 1) / tile; }

}  // namespace headroom::kernels
