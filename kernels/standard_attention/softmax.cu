// SPDX-License-Identifier: Apache-2.0
#include "common/error.h"
#include "common/mma.cuh"
#include "standard_attention/softmax.h"

#include <cmath>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace headroom::kernels {

namespace {

constexpr float kLog2E = 1.4426950408889634f;

struct Running {
    float maximum;
    float sum;  // of exp(x - maximum)
};

__device__ Running combine(Running a, Running b) {
    const float maximum = fmaxf(a.maximum, b.maximum);
    // A side that has seen nothing has -infinity, and its sum of 0 must not meet a NaN.
    const float left = a.sum > 0 ? a.sum * exp2_fast((a.maximum - maximum) * kLog2E) : 0;
    const float right = b.sum > 0 ? b.sum * exp2_fast((b.maximum - maximum) * kLog2E) : 0;
    return {maximum, left + right};
}

template <int Threads>
__device__ Running combine_row(Running mine) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        const Running other{__shfl_xor_sync(0xffffffff, mine.maximum, step),
                            __shfl_xor_sync(0xffffffff, mine.sum, step)};
        mine = combine(mine, other);
    }
    if constexpr (Threads > 32) {
        __shared__ Running warps[Threads / 32];
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
        __syncthreads();
        mine = warps[0];
#pragma unroll
        for (int warp = 1; warp < Threads / 32; ++warp) mine = combine(mine, warps[warp]);
    }
    return mine;
}

template <class T>
__device__ void unpack(float (&values)[8], const uint4& raw, int visible) {
    const T* elements = reinterpret_cast<const T*>(&raw);
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = i < visible ? static_cast<float>(elements[i]) : -INFINITY;
}

template <class T>
__device__ uint4 pack_eight(const float (&values)[8]) {
    return make_uint4(pack<T>(values[0], values[1]), pack<T>(values[2], values[3]),
                      pack<T>(values[4], values[5]), pack<T>(values[6], values[7]));
}

__device__ void observe(Running& running, const float (&values)[8]) {
    float largest = values[0];
#pragma unroll
    for (int i = 1; i < 8; ++i) largest = fmaxf(largest, values[i]);
    if (largest == -INFINITY) return;
    Running eight{largest, 0};
#pragma unroll
    for (int i = 0; i < 8; ++i) eight.sum += exp2_fast((values[i] - largest) * kLog2E);
    running = combine(running, eight);
}

// Columns that a row sees.
__device__ int visible_columns(std::int64_t row, int columns, int causal_rows) {
    return causal_rows > 0 ? static_cast<int>(row % causal_rows) + columns - causal_rows + 1 : columns;
}

// Threads threads hold a row of up to Threads * Vectors * 8 columns in registers.
template <class T, int Threads, int Vectors>
__global__ void __launch_bounds__(Threads < 128 ? 128 : Threads)
    softmax_held(uint4* scores, std::int64_t rows, int columns, std::int64_t row_vectors, int causal_rows) {
    constexpr int kRows = Threads < 128 ? 128 / Threads : 1;  // to a block
    const std::int64_t row = std::int64_t(blockIdx.x) * kRows + threadIdx.x / Threads;
    if (row >= rows) return;
    const int thread = threadIdx.x % Threads;
    const int visible = visible_columns(row, columns, causal_rows);
    const int vectors = (columns + 7) / 8;
    uint4* place = scores + row * row_vectors;
    uint4 raw[Vectors];
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
        const int at = v * Threads + thread;
        if (at * 8 < visible) raw[v] = __ldcs(place + at);
    }
    float values[Vectors][8];
    float largest = -INFINITY;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
        unpack<T>(values[v], raw[v], visible - (v * Threads + thread) * 8);
#pragma unroll
        for (int i = 0; i < 8; ++i) largest = fmaxf(largest, values[v][i]);
    }
    const float reference = largest == -INFINITY ? 0 : largest;
    Running mine{largest, 0};
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            values[v][i] = exp2_fast((values[v][i] - reference) * kLog2E);
            mine.sum += values[v][i];
        }
    }
    const Running whole = combine_row<Threads>(mine);
    const float factor = exp2_fast((reference - whole.maximum) * kLog2E) / whole.sum;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
        const int at = v * Threads + thread;
        if (at >= vectors) break;
#pragma unroll
        for (int i = 0; i < 8; ++i) values[v][i] = at * 8 + i < visible ? values[v][i] * factor : 0;
        __stcs(place + at, pack_eight<T>(values[v]));
    }
}

// Rows too long for registers: one pass for the sum, one to write.
template <class T>
__global__ void __launch_bounds__(1024)
    softmax_twice(uint4* scores, int columns, std::int64_t row_vectors, int causal_rows) {
    const int visible = visible_columns(blockIdx.x, columns, causal_rows);
    uint4* place = scores + blockIdx.x * row_vectors;
    Running mine{-INFINITY, 0};
    float values[8];
    for (int at = threadIdx.x; at * 8 < visible; at += 1024) {
        unpack<T>(values, place[at], visible - at * 8);
        observe(mine, values);
    }
    const Running whole = combine_row<1024>(mine);
    const float inverse = 1 / whole.sum;
    for (int at = threadIdx.x; at * 8 < columns; at += 1024) {
        unpack<T>(values, place[at], visible - at * 8);
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] = exp2_fast((values[i] - whole.maximum) * kLog2E) * inverse;
        place[at] = pack_eight<T>(values);
    }
}

template <class T, int Threads, int Vectors>
void launch_held(const SoftmaxShape& shape, void* scores, Stream stream) {
    constexpr int kRows = Threads < 128 ? 128 / Threads : 1;
    softmax_held<T, Threads, Vectors>
        <<<static_cast<unsigned>((shape.rows + kRows - 1) / kRows), Threads * kRows, 0, stream>>>(
            static_cast<uint4*>(scores), shape.rows, shape.columns, shape.row_stride / 8, shape.causal_rows);
}

template <class T>
void launch(const SoftmaxShape& shape, void* scores, Stream stream) {
    if (shape.columns <= 256) {
        launch_held<T, 32, 1>(shape, scores, stream);
    } else if (shape.columns <= 1024) {
        launch_held<T, 32, 4>(shape, scores, stream);
    } else if (shape.columns <= 2048) {
        launch_held<T, 128, 2>(shape, scores, stream);
    } else if (shape.columns <= 4096) {
        launch_held<T, 128, 4>(shape, scores, stream);
    } else if (shape.columns <= 8192) {
        launch_held<T, 256, 4>(shape, scores, stream);
    } else if (shape.columns <= 16384) {
        launch_held<T, 512, 4>(shape, scores, stream);
    } else if (shape.columns <= 32768) {
        launch_held<T, 1024, 4>(shape, scores, stream);
    } else {
        softmax_twice<T><<<static_cast<unsigned>(shape.rows), 1024, 0, stream>>>(
            static_cast<uint4*>(scores), shape.columns, shape.row_stride / 8, shape.causal_rows);
    }
    HEADROOM_CUDA(cudaGetLastError());
}

}  // namespace

void softmax(const SoftmaxShape& shape, void* scores, Stream stream) {
    HEADROOM_REQUIRE(shape.rows > 0 && shape.columns > 0, "softmax: empty shape");
    HEADROOM_REQUIRE(shape.row_stride % 8 == 0 && shape.row_stride >= shape.columns,
                     "softmax: the row stride is not a multiple of 8 that holds the columns");
    HEADROOM_REQUIRE(shape.causal_rows <= shape.columns, "softmax: a causal row sees no column");
    switch (shape.dtype) {
        case DType::kBf16:
            return launch<__nv_bfloat16>(shape, scores, stream);
        case DType::kFp16:
            return launch<__half>(shape, scores, stream);
        default:
            HEADROOM_REQUIRE(false, "softmax: the type is not bf16 or fp16");
    }
}

}  // namespace headroom::kernels
