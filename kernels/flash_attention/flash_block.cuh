// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/async_copy.cuh"
#include "common/online_softmax.cuh"
#include "flash_attention/flash_tile.h"

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

// What a thread block works on: a tile of query rows of one head, against the tokens that they see.
template <class T, class Tile, int D, bool Causal>
struct FlashBlock {
    static constexpr int kThreads = Tile::kWarps * 32;
    static constexpr int kPairBytes = 16 * D * 2;  // of eight and eight tokens: OnlineSoftmax

    int first_row, query_tokens, context;
    int shift;  // row i sees the first i + shift + 1 tokens
    int tiles;
    const T *query, *keys, *values;
    T* output;
    std::uint32_t query_tile, key_tiles, value_tiles, end_of_tiles;  // shared memory

    __device__ FlashBlock(const FlashParameters& p, const unsigned char* shared) {
        // The longest causal rows first: what runs last is short.
        const int block = static_cast<int>(Causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
        first_row = block * Tile::kRows;
        query_tokens = p.query_tokens;
        context = p.context;
        shift = context - query_tokens;
        const int end = Causal ? min(context, first_row + Tile::kRows + shift) : context;
        tiles = (end + Tile::kTokens - 1) / Tile::kTokens;
        const int head = blockIdx.y;
        const int kv_head = head / (p.query_heads / p.kv_heads);
        const std::int64_t query_offset =
            ((std::int64_t(blockIdx.z) * p.query_heads + head) * query_tokens + first_row) * D;
        const std::int64_t kv_offset = (std::int64_t(blockIdx.z) * p.kv_heads + kv_head) * context * D;
        query = static_cast<const T*>(p.query) + query_offset;
        keys = static_cast<const T*>(p.keys) + kv_offset;
        values = static_cast<const T*>(p.values) + kv_offset;
        output = static_cast<T*>(p.output) + query_offset;
        query_tile = shared_address(shared);
        key_tiles = query_tile + Tile::kRows * D * 2;
        value_tiles = key_tiles + 2 * Tile::kTileBytes;
        end_of_tiles = value_tiles + 2 * Tile::kTileBytes;
    }

    __device__ void copy_queries() const {
        copy_rows<T, D, Tile::kRows, kThreads>(query_tile, query, query_tokens - first_row);
    }

    // K and V of a tile, into one of two places each.
    __device__ void copy_tile(int tile) const {
        const int token = tile * Tile::kTokens;
        const std::int64_t from = std::int64_t(token) * D;
        copy_rows<T, D, Tile::kTokens, kThreads>(key_tiles + place(tile), keys + from, context - token);
        copy_rows<T, D, Tile::kTokens, kThreads>(value_tiles + place(tile), values + from, context - token);
        commit_copies();
    }

    __device__ static std::uint32_t place(int tile) { return (tile & 1) * Tile::kTileBytes; }

    // The A fragments of columns 16 k .. 16 k + 15 of M tiles of 16 query rows.
    template <int M>
    __device__ void load_query(std::uint32_t (&a)[M][4], int row, int k, int lane) const {
#pragma unroll
        for (int m = 0; m < M; ++m)
            load_matrix(a[m], query_tile + swizzled<D / 8>(row + m * 16 + lane % 16, k * 2 + lane / 16));
    }

    // Columns of the tile that starts at `token` that row `row` of this block sees.
    __device__ int limit(int row, int token) const {
        const int held = context - token;
        return Causal ? min(first_row + row + shift + 1 - token, held) : held;
    }
};

// Two values of each group of eight columns of a row, where a lane of an mma has them.
template <class T, int N>
__device__ void store_row(T* row, const float (&output)[N][4], int r, float factor, int lane) {
    auto* place = reinterpret_cast<std::uint32_t*>(row) + lane % 4;
#pragma unroll
    for (int n = 0; n < N; ++n)
        place[n * 4] = pack<T>(output[n][2 * r] * factor, output[n][2 * r + 1] * factor);
}

}  // namespace headroom::kernels
