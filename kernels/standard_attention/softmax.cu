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

// A row's value over all of its threads (whole warps: Threads, or blockDim.x of them if 0), in every one of
// them. Rows of one warp need no other's.
template <int Threads>
__device__ Running combine_row(Running mine) {
    constexpr int kMostWarps = 32;
    __shared__ Running warps[kMostWarps];  // rows of a block one after another
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        const Running other{__shfl_xor_sync(0xffffffff, mine.maximum, step),
                            __shfl_xor_sync(0xffffffff, mine.sum, step)};
        mine = combine(mine, other);
    }
    const unsigned each = (Threads > 0 ? Threads : blockDim.x) / 32;
    if (each == 1) return mine;
    Running* row = warps + threadIdx.y * each;
    if (threadIdx.x % 32 == 0) row[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = row[0];
#pragma unroll
    for (unsigned warp = 1; warp < each; ++warp) mine = combine(mine, row[warp]);
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

constexpr int kTwiceThreads = 1024;

// Threads hold a whole row in registers: all reads, one exchange, all writes. Short rows take few threads, so
// that many rows are under way on a multiprocessor and their reads and writes overlap.
// With `Threads` above 0 a row has a block of just so many, known when compiled, for rows that fill such a
// block.
template <class T, int Vectors, int MostThreads, int Threads>
__global__ void __launch_bounds__(MostThreads)
    softmax_held(uint4* scores, std::int64_t rows, int columns, std::int64_t row_vectors, int causal_rows) {
    const std::int64_t row =
        Threads > 0 ? std::int64_t(blockIdx.x) : std::int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
    const int vectors = (columns + 7) / 8;
    const int thread = threadIdx.x, threads = Threads > 0 ? Threads : static_cast<int>(blockDim.x);
    const int visible = row < rows ? visible_columns(row, columns, causal_rows) : 0;
    uint4* place = scores + row * row_vectors;
    uint4 raw[Vectors];
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
        const int at = v * threads + thread;
        if (at * 8 < visible) raw[v] = place[at];
    }
    float values[Vectors][8];
    float largest = -INFINITY;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
        unpack<T>(values[v], raw[v], visible - (v * threads + thread) * 8);
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
    mine = combine_row<Threads>(mine);
    if (row >= rows) return;
    const float factor = exp2_fast((reference - mine.maximum) * kLog2E) / mine.sum;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
        const int at = v * threads + thread;
        if (at >= vectors) break;
#pragma unroll
        for (int i = 0; i < 8; ++i) values[v][i] = at * 8 + i < visible ? values[v][i] * factor : 0;
        place[at] = pack_eight<T>(values[v]);
    }
}

// Rows too long for registers: one pass for the sum, one to write.
template <class T>
__global__ void __launch_bounds__(kTwiceThreads)
    softmax_twice(uint4* scores, int columns, std::int64_t row_vectors, int causal_rows) {
    const int visible = visible_columns(blockIdx.x, columns, causal_rows);
    uint4* place = scores + blockIdx.x * row_vectors;
    Running mine{-INFINITY, 0};
    float values[8];
    for (int at = threadIdx.x; at * 8 < visible; at += kTwiceThreads) {
        unpack<T>(values, place[at], visible - at * 8);
        observe(mine, values);
    }
    const Running whole = combine_row<kTwiceThreads>(mine);
    const float inverse = 1 / whole.sum;
    for (int at = threadIdx.x; at * 8 < columns; at += kTwiceThreads) {
        unpack<T>(values, place[at], visible - at * 8);
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] = exp2_fast((values[i] - whole.maximum) * kLog2E) * inverse;
        place[at] = pack_eight<T>(values);
    }
}

// `Vectors` of 8 columns to a thread; MostThreads bounds the registers, and so the rows under way.
template <class T, int Vectors, int MostThreads, int Threads = 0>
void launch_held(const SoftmaxShape& shape, void* scores, Stream stream) {
    const auto warps =
        Threads > 0 ? static_cast<unsigned>(Threads / 32)
                    : static_cast<unsigned>((shape.columns + 32 * Vectors * 8 - 1) / (32 * Vectors * 8));
    const unsigned rows = Threads > 0 || warps >= 4 ? 1 : 4 / warps;  // 128 threads or nearly to a block
    const auto blocks = static_cast<unsigned>((shape.rows + rows - 1) / rows);
    softmax_held<T, Vectors, MostThreads, Threads><<<blocks, dim3(warps * 32, rows), 0, stream>>>(
        static_cast<uint4*>(scores), shape.rows, shape.columns, shape.row_stride / 8, shape.causal_rows);
}

template <class T>
void launch(const SoftmaxShape& shape, void* scores, Stream stream) {
    if (shape.columns <= 4096) {
        launch_held<T, 4, 128>(shape, scores, stream);
    } else if (shape.columns <= 6144) {
        launch_held<T, 3, 256, 256>(shape, scores, stream);
    } else if (shape.columns <= 8192) {
        launch_held<T, 4, 256, 256>(shape, scores, stream);
    } else if (shape.columns <= 16384) {
        launch_held<T, 8, 256>(shape, scores, stream);
    } else {
        softmax_twice<T><<<static_cast<unsigned>(shape.rows), kTwiceThreads, 0, stream>>>(
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
