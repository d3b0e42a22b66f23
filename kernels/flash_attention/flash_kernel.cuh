// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/async_copy.cuh"
#include "common/online_softmax.cuh"
#include "flash_attention/flash_tile.h"

// The portable path (sm_80 on): mma.sync and cp.async. Four warps share a tile of query rows; K and V tiles
// are double-buffered, so that a step has one barrier and the next tiles arrive behind its products. Two
// blocks on a multiprocessor overlap one's softmax with the other's products.

namespace headroom::kernels {

struct FlashParameters {
    const void* query;
    const void* keys;
    const void* values;
    void* output;
    float scale_log2;
    int query_heads;
    int kv_heads;
    int query_tokens;
    int context;
};

// Rows of D values into swizzled shared rows; rows at or past `valid` become zeros.
template <class T, int D, int Rows, int Threads>
__device__ void copy_rows(std::uint32_t shared, const T* source, int valid) {
    constexpr int kChunks = D / 8;
    constexpr int kStep = Threads / kChunks;
    const int first = threadIdx.x / kChunks;
    const int chunk = threadIdx.x % kChunks;
#pragma unroll
    for (int i = 0; i < Rows / kStep; ++i) {
        const int row = i * kStep + first;
        copy_16_async<Reuse::kMany>(shared + swizzled<kChunks>(row, chunk),
                                    source + (row < valid ? row : 0) * D + chunk * 8, row < valid);
    }
}

template <class T, class Tile, int D, bool Causal>
__global__ void __launch_bounds__(Tile::kWarps * 32, Tile::kBlocks) flash_kernel(const FlashParameters p) {
    constexpr int kThreads = Tile::kWarps * 32;
    constexpr int kPairBytes = 16 * D * 2;
    extern __shared__ __align__(1024) unsigned char shared[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // The longest causal rows first: what runs last is short.
    const int block = Causal ? static_cast<int>(gridDim.x - 1 - blockIdx.x) : static_cast<int>(blockIdx.x);
    const int first_row = block * Tile::kRows;
    const int head = blockIdx.y;
    const int kv_head = head / (p.query_heads / p.kv_heads);
    const std::int64_t query_offset =
        ((std::int64_t(blockIdx.z) * p.query_heads + head) * p.query_tokens + first_row) * D;
    const std::int64_t kv_offset = (std::int64_t(blockIdx.z) * p.kv_heads + kv_head) * p.context * D;
    const T* keys = static_cast<const T*>(p.keys) + kv_offset;
    const T* values = static_cast<const T*>(p.values) + kv_offset;

    const std::uint32_t query_tile = shared_address(shared);
    const std::uint32_t key_tiles = query_tile + Tile::kRows * D * 2;
    const std::uint32_t value_tiles = key_tiles + 2 * Tile::kTileBytes;
    const int shift = p.context - p.query_tokens;
    const int end = Causal ? min(p.context, first_row + Tile::kRows + shift) : p.context;
    const int tiles = (end + Tile::kTokens - 1) / Tile::kTokens;
    const auto copy_tile = [&](int tile) {
        const int token = tile * Tile::kTokens;
        const std::uint32_t place = (tile & 1) * Tile::kTileBytes;
        copy_rows<T, D, Tile::kTokens, kThreads>(key_tiles + place, keys + std::int64_t(token) * D,
                                                 p.context - token);
        copy_rows<T, D, Tile::kTokens, kThreads>(value_tiles + place, values + std::int64_t(token) * D,
                                                 p.context - token);
        commit_copies();
    };
    copy_rows<T, D, Tile::kRows, kThreads>(query_tile, static_cast<const T*>(p.query) + query_offset,
                                           p.query_tokens - first_row);
    copy_tile(0);

    const int warp_row = warp * Tile::kRowTiles * 16;
    const auto query = [&](int k, std::uint32_t(&a)[Tile::kRowTiles][4]) {
#pragma unroll
        for (int m = 0; m < Tile::kRowTiles; ++m) {
            load_matrix(a[m], query_tile + swizzled<D / 8>(warp_row + m * 16 + lane % 16, k * 2 + lane / 16));
        }
    };
    OnlineSoftmax<T, D, Tile::kRowTiles> state;
    for (int tile = 0; tile < tiles; ++tile) {
        wait_for_copies<0>();
        __syncthreads();
        if (tile + 1 < tiles) copy_tile(tile + 1);
        const int token = tile * Tile::kTokens;
        const int warp_limit =
            first_row + warp_row + shift + 1 - token;  // columns that the warp's first row sees
        if (Causal && warp_limit + Tile::kRowTiles * 16 - 1 <= 0) continue;
        const std::uint32_t place = (tile & 1) * Tile::kTileBytes;
        float s[Tile::kRowTiles][Tile::kTokens / 8][4] = {};
        state.template scores<kPairBytes>(s, query, key_tiles + place, lane);
        if (p.context - token < Tile::kTokens || (Causal && warp_limit < Tile::kTokens)) {
            const auto limit = [&](int m, int r) {
                const int seen = Causal ? warp_limit + m * 16 + r * 8 + lane / 4 : p.context - token;
                return Causal ? min(seen, p.context - token) : seen;
            };
            state.mask(s, limit, lane);
        }
        state.soften(s, p.scale_log2);
        state.template accumulate<kPairBytes>(s, value_tiles + place, lane);
    }

    T* output = static_cast<T*>(p.output) + query_offset;
#pragma unroll
    for (int m = 0; m < Tile::kRowTiles; ++m) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = warp_row + m * 16 + r * 8 + lane / 4;
            const float inverse = 1 / state.total(m, r);
            if (first_row + row >= p.query_tokens) continue;
            auto* place = reinterpret_cast<std::uint32_t*>(output + std::int64_t(row) * D) + lane % 4;
#pragma unroll
            for (int n = 0; n < D / 8; ++n) {
                place[n * 4] =
                    pack<T>(state.output[m][n][2 * r] * inverse, state.output[m][n][2 * r + 1] * inverse);
            }
        }
    }
}

}  // namespace headroom::kernels
