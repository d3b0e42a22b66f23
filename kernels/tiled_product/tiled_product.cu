// SPDX-License-Identifier: Apache-2.0
#include "common/error.h"
#include "tiled_product/product_tile.cuh"
#include "tiled_product/tiled_product.h"

#include <cuda_runtime.h>

namespace headroom::kernels {

namespace {

struct ProductParameters {
    const Bf16* x;
    const Bf16* w;
    const Bf16* gate;
    Bf16* y;
    TiledProductShape shape;
};

__device__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ float silu(float x) { return x * sigmoid(x); }
__device__ float gelu(float x) { return x * sigmoid(1.5957691216f * (x + 0.044715f * x * x * x)); }

template <Epilogue E>
using TileOf =
    ProductTile<E == Epilogue::kGated ? kGatedColumns : kTileColumns, E == Epilogue::kGated ? 2 : 1>;

template <Epilogue E>
__device__ float finished(const typename TileOf<E>::Sums& sums, int m, int n, int i) {
    const float value = sums[0][m][n][i];
    if constexpr (E == Epilogue::kGelu) return gelu(value);
    if constexpr (E == Epilogue::kGated) return value * silu(sums[1][m][n][i]);
    return value;
}

// By way of shared memory, so that rows leave in runs of 16 bytes a thread.
template <Epilogue E>
__device__ void store_tile(const ProductParameters& p, const typename TileOf<E>::Sums& sums,
                           unsigned char* shared, int first_token, int first_column) {
    using Tile = TileOf<E>;
    constexpr int kChunks = Tile::kColumns / 8;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    __syncthreads();
#pragma unroll
    for (int m = 0; m < 4; ++m) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = Tile::warp_token(warp) + m * 16 + r * 8 + lane / 4;
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                const std::uint32_t at =
                    swizzled<kChunks>(row, Tile::warp_column(warp) / 8 + n) + lane % 4 * 4;
                *reinterpret_cast<std::uint32_t*>(shared + at) =
                    pack<Bf16>(finished<E>(sums, m, n, 2 * r), finished<E>(sums, m, n, 2 * r + 1));
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTileTokens * kChunks / Tile::kThreads; ++i) {
        const int piece = i * Tile::kThreads + static_cast<int>(threadIdx.x);
        const int row = piece / kChunks, chunk = piece % kChunks;
        const int token = first_token + row, column = first_column + chunk * 8;
        if (token >= p.shape.tokens || column >= p.shape.y_stride) continue;
        *reinterpret_cast<uint4*>(p.y + std::int64_t(token) * p.shape.y_stride + column) =
            *reinterpret_cast<const uint4*>(shared + swizzled<kChunks>(row, chunk));
    }
}

template <Epilogue E>
__global__ void __launch_bounds__(TileOf<E>::kThreads, TileOf<E>::kBlocks)
    tiled_product_kernel(const ProductParameters p) {
    using Tile = TileOf<E>;
    extern __shared__ __align__(1024) unsigned char shared[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const auto place = block_place(static_cast<int>(blockIdx.x), tiles_of(p.shape.tokens, kTileTokens),
                                   tiles_of(p.shape.outputs, Tile::kColumns), kTokenGroup / kTileTokens);
    const int first_token = place.token_tile * kTileTokens;
    const int first_column = place.column_tile * Tile::kColumns;
    const int depth = p.shape.inputs;
    const Bf16* x = p.x + std::int64_t(first_token) * depth;
    const Bf16* w = p.w + std::int64_t(first_column) * depth;
    const Bf16* gate = Tile::kWeights == 2 ? p.gate + std::int64_t(first_column) * depth : nullptr;
    const int tokens = p.shape.tokens - first_token, columns = p.shape.outputs - first_column;
    int at = 0;
    const auto copy = [&](std::uint32_t stage) {
        copy_stage<kTileTokens, Tile::kThreads>(stage, x, tokens, depth, at);
        const std::uint32_t weights = stage + Tile::kInputBytes;
        copy_stage<Tile::kColumns, Tile::kThreads>(weights, w, columns, depth, at);
        if constexpr (Tile::kWeights == 2)
            copy_stage<Tile::kColumns, Tile::kThreads>(weights + Tile::kWeightBytes, gate, columns, depth,
                                                       at);
        at += kTileDepth;
    };
    typename Tile::Sums sums = {};
    run_stages<Tile>(shared_address(shared), tiles_of(depth, kTileDepth), copy,
                     [&](std::uint32_t stage) { multiply_stage<Tile>(sums, stage, warp, lane); });
    store_tile<E>(p, sums, shared, first_token, first_column);
}

template <Epilogue E>
void launch(const ProductParameters& p, Stream stream) {
    using Tile = TileOf<E>;
    static const bool raised = [] {
        HEADROOM_CUDA(cudaFuncSetAttribute(tiled_product_kernel<E>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes));
        return true;
    }();
    static_cast<void>(raised);
    const int blocks = tiles_of(p.shape.tokens, kTileTokens) * tiles_of(p.shape.outputs, Tile::kColumns);
    tiled_product_kernel<E><<<static_cast<unsigned>(blocks), Tile::kThreads, Tile::kSharedBytes, stream>>>(p);
    HEADROOM_CUDA(cudaGetLastError());
}

constexpr int kActivationThreads = kActivationColumns / 8;

template <bool Gated>
__global__ void __launch_bounds__(kActivationThreads)
    activation_kernel(const Bf16* u, const Bf16* g, Bf16* a, int columns) {
    const int blocks = (columns + kActivationColumns - 1) / kActivationColumns;
    const int token = static_cast<int>(blockIdx.x) / blocks;
    const int column =
        (static_cast<int>(blockIdx.x) % blocks * kActivationThreads + static_cast<int>(threadIdx.x)) * 8;
    if (column >= columns) return;
    const std::int64_t at = std::int64_t(token) * columns + column;
    union Eight {
        uint4 all;
        __nv_bfloat162 pair[4];
    };
    Eight up, gate, result;
    up.all = *reinterpret_cast<const uint4*>(u + at);
    if constexpr (Gated) gate.all = *reinterpret_cast<const uint4*>(g + at);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 x = __bfloat1622float2(up.pair[i]);
        if constexpr (Gated) {
            const float2 y = __bfloat1622float2(gate.pair[i]);
            result.pair[i] = __floats2bfloat162_rn(x.x * silu(y.x), x.y * silu(y.y));
        } else {
            result.pair[i] = __floats2bfloat162_rn(gelu(x.x), gelu(x.y));
        }
    }
    *reinterpret_cast<uint4*>(a + at) = result.all;
}

}  // namespace

void tiled_product(Epilogue epilogue, const TiledProductShape& shape, const void* x, const void* w,
                   const void* gate, void* y, Stream stream) {
    HEADROOM_REQUIRE(shape.tokens > 0 && shape.inputs > 0 && shape.outputs > 0, "tiled product: empty shape");
    HEADROOM_REQUIRE(shape.inputs % 8 == 0, "tiled product: the inputs are no multiple of 8");
    HEADROOM_REQUIRE(
        shape.y_stride % 8 == 0 && shape.y_stride >= shape.outputs && shape.y_stride < shape.outputs + 8,
        "tiled product: rows of the result are not padded to a multiple of 8");
    const ProductParameters p{static_cast<const Bf16*>(x), static_cast<const Bf16*>(w),
                              static_cast<const Bf16*>(gate), static_cast<Bf16*>(y), shape};
    switch (epilogue) {
        case Epilogue::kStore:
            return launch<Epilogue::kStore>(p, stream);
        case Epilogue::kGelu:
            return launch<Epilogue::kGelu>(p, stream);
        case Epilogue::kGated:
            return launch<Epilogue::kGated>(p, stream);
    }
}

void activation(int tokens, int columns, const void* u, const void* g, void* a, Stream stream) {
    HEADROOM_REQUIRE(tokens > 0 && columns > 0 && columns % 8 == 0,
                     "activation: the columns are no multiple of 8");
    const auto blocks = static_cast<unsigned>(tokens * tiles_of(columns, kActivationColumns));
    const auto* up = static_cast<const Bf16*>(u);
    const auto* gate = static_cast<const Bf16*>(g);
    auto* result = static_cast<Bf16*>(a);
    if (gate != nullptr)
        activation_kernel<true><<<blocks, kActivationThreads, 0, stream>>>(up, gate, result, columns);
    else
        activation_kernel<false><<<blocks, kActivationThreads, 0, stream>>>(up, gate, result, columns);
    HEADROOM_CUDA(cudaGetLastError());
}

}  // namespace headroom::kernels
