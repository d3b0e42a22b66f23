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

// Each row's value over all threads of the block, in every thread.
template <int Threads, int Rows>
__device__ void combine_rows(Running (&mine)[Rows]) {
    __shared__ Running warps[Threads / 32][Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
        for (int step = 16; step > 0; step /= 2) {
            const Running other{__shfl_xor_sync(0xffffffff, mine[r].maximum, step),
                                __shfl_xor_sync(0xffffffff, mine[r].sum, step)};
            mine[r] = combine(mine[r], other);
        }
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32][r] = mine[r];
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        mine[r] = warps[0][r];
#pragma unroll
        for (int warp = 1; warp < Threads / 32; ++warp) mine[r] = combine(mine[r], warps[warp][r]);
    }
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

constexpr int kThreads = 256;

// A block holds Rows rows of up to kThreads * Vectors * 8 columns in registers: all reads, one exchange, all
// writes.
template <class T, int Rows, int Vectors>
__global__ void __launch_bounds__(kThreads)
    softmax_held(uint4* scores, std::int64_t rows, int columns, std::int64_t row_vectors, int causal_rows) {
    const std::int64_t first_row = std::int64_t(blockIdx.x) * Rows;
    const int vectors = (columns + 7) / 8;
    const int thread = threadIdx.x;
    uint4 raw[Rows][Vectors];
    int visible[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        visible[r] = first_row + r < rows ? visible_columns(first_row + r, columns, causal_rows) : 0;
#pragma unroll
        for (int v = 0; v < Vectors; ++v) {
            const int at = v * kThreads + thread;
            if (at * 8 < visible[r]) raw[r][v] = scores[(first_row + r) * row_vectors + at];
        }
    }
    float values[Rows][Vectors][8];
    Running mine[Rows];
    float reference[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        float largest = -INFINITY;
#pragma unroll
        for (int v = 0; v < Vectors; ++v) {
            unpack<T>(values[r][v], raw[r][v], visible[r] - (v * kThreads + thread) * 8);
#pragma unroll
            for (int i = 0; i < 8; ++i) largest = fmaxf(largest, values[r][v][i]);
        }
        reference[r] = largest == -INFINITY ? 0 : largest;
        mine[r] = {largest, 0};
#pragma unroll
        for (int v = 0; v < Vectors; ++v) {
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                values[r][v][i] = exp2_fast((values[r][v][i] - reference[r]) * kLog2E);
                mine[r].sum += values[r][v][i];
            }
        }
    }
    combine_rows<kThreads>(mine);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        if (first_row + r >= rows) break;
        const float factor = exp2_fast((reference[r] - mine[r].maximum) * kLog2E) / mine[r].sum;
#pragma unroll
        for (int v = 0; v < Vectors; ++v) {
            const int at = v * kThreads + thread;
            if (at >= vectors) break;
#pragma unroll
            for (int i = 0; i < 8; ++i)
                values[r][v][i] = at * 8 + i < visible[r] ? values[r][v][i] * factor : 0;
            scores[(first_row + r) * row_vectors + at] = pack_eight<T>(values[r][v]);
        }
    }
}

// Rows too long for registers: one pass for the sum, one to write.
template <class T>
__global__ void __launch_bounds__(1024)
    softmax_twice(uint4* scores, int columns, std::int64_t row_vectors, int causal_rows) {
    const int visible = visible_columns(blockIdx.x, columns, causal_rows);
    uint4* place = scores + blockIdx.x * row_vectors;
    Running mine[1] = {{-INFINITY, 0}};
    float values[8];
    for (int at = threadIdx.x; at * 8 < visible; at += 1024) {
        unpack<T>(values, place[at], visible - at * 8);
        observe(mine[0], values);
    }
    combine_rows<1024>(mine);
    const Running whole = mine[0];
    const float inverse = 1 / whole.sum;
    for (int at = threadIdx.x; at * 8 < columns; at += 1024) {
        unpack<T>(values, place[at], visible - at * 8);
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] = exp2_fast((values[i] - whole.maximum) * kLog2E) * inverse;
        place[at] = pack_eight<T>(values);
    }
}

template <class T, int Rows, int Vectors>
void launch_held(const SoftmaxShape& shape, void* scores, Stream stream) {
    softmax_held<T, Rows, Vectors>
        <<<static_cast<unsigned>((shape.rows + Rows - 1) / Rows), kThreads, 0, stream>>>(
            static_cast<uint4*>(scores), shape.rows, shape.columns, shape.row_stride / 8, shape.causal_rows);
}

template <class T>
void launch(const SoftmaxShape& shape, void* scores, Stream stream) {
    switch ((shape.columns + kThreads * 8 - 1) / (kThreads * 8)) {
        case 1:
            launch_held<T, 4, 1>(shape, scores, stream);
            break;
        case 2:
            launch_held<T, 1, 2>(shape, scores, stream);
            break;
        case 3:
            launch_held<T, 1, 3>(shape, scores, stream);
            break;
        case 4:
            launch_held<T, 1, 4>(shape, scores, stream);
            break;
        case 5:
            launch_held<T, 1, 5>(shape, scores, stream);
            break;
        case 6:
            launch_held<T, 1, 6>(shape, scores, stream);
            break;
        case 7:
        case 8:
            launch_held<T, 1, 8>(shape, scores, stream);
            break;
        default:
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
