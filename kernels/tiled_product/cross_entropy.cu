// SPDX-License-Identifier: Apache-2.0
#include "common/error.h"
#include "tiled_product/cross_entropy.h"
#include "tiled_product/product_tile.cuh"
#include "tiled_product/tiled_product.h"

#include <cmath>

#include <cuda_runtime.h>

namespace headroom::kernels {

namespace {

constexpr float kLog2E = 1.4426950408889634f;

// A maximum and the sum of exponentials against it. The difference is taken first: logits of 1e5 times
// log2(e) would round away what matters.
struct Running {
    float maximum, sum;

    __device__ void join(const Running& other) {
        const float larger = fmaxf(maximum, other.maximum);
        if (larger == -INFINITY) return;
        sum = sum * exp2_fast((maximum - larger) * kLog2E) +
              other.sum * exp2_fast((other.maximum - larger) * kLog2E);
        maximum = larger;
    }
    __device__ void join_lanes(int width) {
        for (int step = 1; step < width; step *= 2) {
            join({__shfl_xor_sync(0xffffffff, maximum, step), __shfl_xor_sync(0xffffffff, sum, step)});
        }
    }
};

__device__ Running nothing() { return {-INFINITY, 0}; }

struct PartsParameters {
    const Bf16* x;
    const Bf16* w;
    const int* targets;
    float *maxima, *sums, *target_logits;  // [part][token]
    int tokens, hidden, vocabulary;
};

using PartsTile = ProductTile<kTileColumns, 1>;

// What a block knows of its tokens so far; each quarter of the columns is another warp's.
struct PartsState {
    Running rows[kTileTokens][PartsTile::kColumnWarps];
    float target_logits[kTileTokens];
    int targets[kTileTokens];
};

// A tile of logits into the state. A row's quarter has one writer, a target at most one column.
__device__ void take_logits(const PartsTile::Sums& sums, PartsState& state, int first_column, int end,
                            int warp, int lane) {
    const int warp_column = PartsTile::warp_column(warp);
#pragma unroll
    for (int m = 0; m < 4; ++m) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = PartsTile::warp_token(warp) + m * 16 + r * 8 + lane / 4;
            const int target = state.targets[row];
            float logits[8];
            Running here = nothing();
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                const int column = first_column + warp_column + j / 2 * 8 + lane % 4 * 2 + j % 2;
                logits[j] = column < end ? sums[0][m][j / 2][2 * r + j % 2] : -INFINITY;
                here.maximum = fmaxf(here.maximum, logits[j]);
                if (column == target && column < end) state.target_logits[row] = logits[j];
            }
            if (here.maximum > -INFINITY) {
#pragma unroll
                for (int j = 0; j < 8; ++j) here.sum += exp2_fast((logits[j] - here.maximum) * kLog2E);
            }
            here.join_lanes(4);
            if (lane % 4 == 0) state.rows[row][warp_column / 32].join(here);
        }
    }
}

__global__ void __launch_bounds__(PartsTile::kThreads, PartsTile::kBlocks)
    loss_parts_kernel(const PartsParameters p) {
    using Tile = PartsTile;
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ PartsState state;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const auto place = block_place(static_cast<int>(blockIdx.x), tiles_of(p.tokens, kTileTokens),
                                   loss_parts(p.vocabulary), kLossTokenGroup / kTileTokens);
    const int part = place.column_tile;
    const int first_token = place.token_tile * kTileTokens;
    const int tokens = p.tokens - first_token;
    const int begin = part * kLossPartColumns, end = min(begin + kLossPartColumns, p.vocabulary);
    const int depth_steps = tiles_of(p.hidden, kTileDepth);
    if (threadIdx.x < kTileTokens) {
        const int row = static_cast<int>(threadIdx.x);
        state.targets[row] = row < tokens ? p.targets[first_token + row] : -1;
        state.target_logits[row] = 0;
        for (Running& running : state.rows[row]) running = nothing();
    }
    // Ordered before their use by the barriers of the stages.

    const Bf16* x = p.x + std::int64_t(first_token) * p.hidden;
    const Bf16* w = p.w + std::int64_t(begin) * p.hidden;
    int rows_left = end - begin, at = 0;  // of what is copied next
    const auto copy = [&](std::uint32_t stage) {
        copy_stage<kTileTokens, Tile::kThreads>(stage, x, tokens, p.hidden, at);
        // The blocks that share these rows run together, and nobody comes back: they make room for tokens.
        copy_stage<kTileColumns, Tile::kThreads, Reuse::kOnce>(stage + Tile::kInputBytes, w, rows_left,
                                                               p.hidden, at);
        at += kTileDepth;
        if (at < p.hidden) return;
        at = 0;
        w += std::int64_t(kTileColumns) * p.hidden;
        rows_left -= kTileColumns;
    };
    Tile::Sums sums = {};
    int step = 0, column = begin;  // of what is multiplied next
    const auto multiply = [&](std::uint32_t stage) {
        multiply_stage<Tile>(sums, stage, warp, lane);
        if (++step < depth_steps) return;
        take_logits(sums, state, column, end, warp, lane);
        step = 0;
        column += kTileColumns;
#pragma unroll
        for (int m = 0; m < 4; ++m) {
#pragma unroll
            for (int n = 0; n < 4; ++n) {
#pragma unroll
                for (int i = 0; i < 4; ++i) sums[0][m][n][i] = 0;
            }
        }
    };
    run_stages<Tile>(shared_address(shared), tiles_of(end - begin, kTileColumns) * depth_steps, copy,
                     multiply);
    __syncthreads();

    if (threadIdx.x >= kTileTokens || static_cast<int>(threadIdx.x) >= tokens) return;
    Running all = nothing();
    for (const Running& running : state.rows[threadIdx.x]) all.join(running);
    const std::int64_t to = std::int64_t(part) * p.tokens + first_token + threadIdx.x;
    p.maxima[to] = all.maximum;
    p.sums[to] = all.sum;
    p.target_logits[to] = state.target_logits[threadIdx.x];
}

__global__ void __launch_bounds__(kMergeTokens) loss_merge_kernel(const PartsParameters p, float* loss) {
    const int token = static_cast<int>(blockIdx.x * kMergeTokens + threadIdx.x);
    if (token >= p.tokens) return;
    Running all = nothing();
    float target = 0;
    for (int part = 0; part < loss_parts(p.vocabulary); ++part) {
        const std::int64_t from = std::int64_t(part) * p.tokens + token;
        all.join({p.maxima[from], p.sums[from]});
        target += p.target_logits[from];
    }
    loss[token] = logf(all.sum) + (all.maximum - target);
}

constexpr int kRowThreads = 256;

// One block a token: logits are read once, 16 bytes a thread.
__global__ void __launch_bounds__(kRowThreads)
    loss_rows_kernel(const Bf16* logits, const int* targets, float* loss, int vocabulary, int stride) {
    const Bf16* row = logits + std::int64_t(blockIdx.x) * stride;
    Running mine = nothing();
    for (int at = static_cast<int>(threadIdx.x) * 8; at < vocabulary; at += kRowThreads * 8) {
        union {
            uint4 all;
            __nv_bfloat162 pair[4];
        } eight;
        eight.all = *reinterpret_cast<const uint4*>(row + at);
        float values[8];
        Running here = nothing();
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float2 pair = __bfloat1622float2(eight.pair[i / 2]);
            values[i] = at + i < vocabulary ? (i % 2 == 0 ? pair.x : pair.y) : -INFINITY;
            here.maximum = fmaxf(here.maximum, values[i]);
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) here.sum += exp2_fast((values[i] - here.maximum) * kLog2E);
        mine.join(here);
    }
    mine.join_lanes(32);
    __shared__ Running warps[kRowThreads / 32];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int warp = 1; warp < kRowThreads / 32; ++warp) mine.join(warps[warp]);
    loss[blockIdx.x] = logf(mine.sum) + (mine.maximum - __bfloat162float(row[targets[blockIdx.x]]));
}

}  // namespace

CrossEntropy::CrossEntropy(int tokens, int hidden, int vocabulary, bool fused)
    : tokens_(tokens),
      hidden_(hidden),
      vocabulary_(vocabulary),
      stride_((vocabulary + 7) / 8 * 8),
      fused_(fused) {
    HEADROOM_REQUIRE(tokens > 0 && hidden > 0 && vocabulary > 0, "cross entropy: empty shape");
    HEADROOM_REQUIRE(hidden % 8 == 0, "cross entropy: the hidden width is no multiple of 8");
    const auto rows = static_cast<std::size_t>(tokens);
    scratch_ =
        DeviceBuffer(fused ? rows * static_cast<std::size_t>(loss_parts(vocabulary)) * 3 * sizeof(float)
                           : rows * static_cast<std::size_t>(stride_) * sizeof(Bf16));
}

void CrossEntropy::run(const void* x, const void* w, const int* targets, float* loss, Stream stream) const {
    if (!fused_) {
        tiled_product(Epilogue::kStore, {tokens_, hidden_, vocabulary_, stride_}, x, w, nullptr,
                      scratch_.data(), stream);
        loss_rows_kernel<<<static_cast<unsigned>(tokens_), kRowThreads, 0, stream>>>(
            scratch_.as<Bf16>(), targets, loss, vocabulary_, stride_);
        HEADROOM_CUDA(cudaGetLastError());
        return;
    }
    static const bool raised = [] {
        HEADROOM_CUDA(cudaFuncSetAttribute(loss_parts_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           PartsTile::kSharedBytes));
        return true;
    }();
    static_cast<void>(raised);
    const std::int64_t values = std::int64_t{tokens_} * loss_parts(vocabulary_);
    auto* maxima = scratch_.as<float>();
    const PartsParameters p{static_cast<const Bf16*>(x),
                            static_cast<const Bf16*>(w),
                            targets,
                            maxima,
                            maxima + values,
                            maxima + 2 * values,
                            tokens_,
                            hidden_,
                            vocabulary_};
    const auto blocks = static_cast<unsigned>(tiles_of(tokens_, kTileTokens) * loss_parts(vocabulary_));
    loss_parts_kernel<<<blocks, PartsTile::kThreads, PartsTile::kSharedBytes, stream>>>(p);
    loss_merge_kernel<<<static_cast<unsigned>(tiles_of(tokens_, kMergeTokens)), kMergeTokens, 0, stream>>>(
        p, loss);
    HEADROOM_CUDA(cudaGetLastError());
}

}  // namespace headroom::kernels
