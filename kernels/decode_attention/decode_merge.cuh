// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/launch.cuh"
#include "common/mma.cuh"
#include "decode_attention/decode_attention.h"
#include "decode_attention/decode_limits.h"

#include <cstdint>

// From the running rows of a block's warps to the item's result, and from a unit's partial results to its
// output. Results over disjoint tokens combine exactly: with s_i the log2 of the sum of exponentials and o_i
// the normalised output of part i, o = sum_i 2^(s_i - s) o_i where 2^s = sum_i 2^(s_i).

namespace headroom::kernels {

struct PartialResults {
    float* outputs;  // [partial][row][D]
    float* sums;     // [partial][row]
    int* counters;   // [unit]; null: merge_kernel follows
    int row_stride;  // rows per partial
};

// Which query heads a slice of a group has.
struct HeadRows {
    int query_heads;
    int group;
    int slices;
    int rows_per_slice;

    __device__ int first(int head_slice) const {
        return head_slice / slices * group + head_slice % slices * rows_per_slice;
    }
    __device__ int rows(int head_slice) const {
        return min(rows_per_slice, (head_slice / slices + 1) * group - first(head_slice));
    }
};

template <class T>
__device__ void store_four(T* output, float4 value) {
    *reinterpret_cast<uint2*>(output) = make_uint2(pack<T>(value.x, value.y), pack<T>(value.z, value.w));
}

__device__ inline void add_scaled(float4& sum, float weight, const float4& value) {
    sum.x = fmaf(weight, value.x, sum.x);
    sum.y = fmaf(weight, value.y, sum.y);
    sum.z = fmaf(weight, value.z, sum.z);
    sum.w = fmaf(weight, value.w, sum.w);
}

// Merges the parts of rows first_row .. first_row + rows - 1 of a unit whose first row's output is at
// `output`. Weights live in `weights` (parts * rows floats of shared memory).
template <class T, int D>
__device__ void merge_parts(const DecodeItem& item, int first_row, int rows, T* output,
                            const PartialResults& partials, float* weights) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const std::int64_t first = std::int64_t(item.first_partial) * partials.row_stride + first_row;
    const float* sums = partials.sums + first;
    for (int row = warp; row < rows; row += kDecodeWarps) {
        float largest = -INFINITY;
        for (int part = lane; part < item.parts; part += 32) {
            const float sum = __ldcg(sums + part * partials.row_stride + row);
            weights[part * rows + row] = sum;
            largest = fmaxf(largest, sum);
        }
#pragma unroll
        for (int step = 16; step > 0; step /= 2) {
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, step));
        }
        float total = 0;
        for (int part = lane; part < item.parts; part += 32) {
            const float weight = exp2f(weights[part * rows + row] - largest);
            weights[part * rows + row] = weight;
            total += weight;
        }
#pragma unroll
        for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffff, total, step);
        for (int part = lane; part < item.parts; part += 32) weights[part * rows + row] /= total;
    }
    __syncthreads();
    const auto* outputs = reinterpret_cast<const float4*>(partials.outputs) + first * (D / 4);
    output += std::int64_t(first_row) * D;
    for (int i = threadIdx.x; i < rows * (D / 4); i += kDecodeWarps * 32) {
        const int row = i / (D / 4);
        float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8
        for (int part = 0; part < item.parts; ++part) {
            add_scaled(sum, weights[part * rows + row],
                       __ldcg(outputs + std::int64_t(part) * partials.row_stride * (D / 4) + i));
        }
        store_four(output + std::int64_t(i) * 4, sum);
    }
}

// True in every thread of the block that finishes a unit's last part. The counter is left at zero.
__device__ inline bool is_last_part(const DecodeItem& item, int* counters) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(counters + item.unit, 1) == item.parts - 1;
        if (last) counters[item.unit] = 0;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// Combines the warps that split the tokens, then writes the output, or this part's share of it.
template <class T, int D, int Team, class Rows>
__device__ void finish_item(const Rows& state, const DecodeItem& item, int rows, std::int64_t query_row,
                            T* output, const PartialResults& partials, float scale_log2,
                            unsigned char* shared) {
    constexpr int kTeams = kDecodeWarps / Team;
    __shared__ float warp_sums[kDecodeWarps][16];  // log2 of each row's sum of exponentials
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    auto* tiles = reinterpret_cast<float*>(shared);  // [warp][16][D], normalised
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const float sum = state.total(0, r);
        const int row = r * 8 + lane / 4;
        const float inverse = sum > 0 ? 1 / sum : 0;
        if (lane % 4 == 0) {
            warp_sums[warp][row] = sum > 0 ? state.maximum[0][r] * scale_log2 + log2f(sum) : -INFINITY;
        }
        auto* place = reinterpret_cast<float2*>(tiles + (warp * 16 + row) * D);
#pragma unroll
        for (int n = 0; n < D / 8; ++n) {
            place[n * 4 + lane % 4] =
                make_float2(state.output[0][n][2 * r] * inverse, state.output[0][n][2 * r + 1] * inverse);
        }
    }
    __syncthreads();
    const std::int64_t partial_row = (std::int64_t(item.first_partial) + item.part) * partials.row_stride;
    for (int i = threadIdx.x; i < rows * (D / 4); i += kDecodeWarps * 32) {
        const int row = i / (D / 4);
        const int member = row / 16;
        float largest = -INFINITY;
#pragma unroll
        for (int team = 0; team < kTeams; ++team) {
            largest = fmaxf(largest, warp_sums[team * Team + member][row % 16]);
        }
        float total = 0;
        float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
        for (int team = 0; team < kTeams; ++team) {
            const int from = team * Team + member;
            const float weight = exp2f(warp_sums[from][row % 16] - largest);
            total += weight;
            add_scaled(sum, weight,
                       reinterpret_cast<const float4*>(tiles + (from * 16 + row % 16) * D)[i % (D / 4)]);
        }
        const float inverse = 1 / total;
        sum = make_float4(sum.x * inverse, sum.y * inverse, sum.z * inverse, sum.w * inverse);
        if (item.parts == 1) {
            store_four(output + query_row * D + std::int64_t(i) * 4, sum);
        } else {
            __stcg(reinterpret_cast<float4*>(partials.outputs + partial_row * D) + i, sum);
            if (i % (D / 4) == 0) __stcg(partials.sums + partial_row + row, largest + log2f(total));
        }
    }
    if (item.parts == 1 || partials.counters == nullptr || !is_last_part(item, partials.counters)) return;
    merge_parts<T, D>(item, 0, rows, output + query_row * D, partials, reinterpret_cast<float*>(shared));
}

// Rows that one block of merge_kernel takes.
template <int D>
constexpr int kMergeRows = kDecodeWarps * 32 * 4 / D;

// The same as a kernel of its own, one column of blocks to a unit: where a unit has many rows and parts, its
// last block would be long at it alone.
template <class T, int D>
__global__ void __launch_bounds__(kDecodeWarps * 32)
    merge_kernel(const DecodeItem* units, T* output, const PartialResults partials, HeadRows heads) {
    __shared__ float weights[kMaxParts * kMergeRows<D>];
    const DecodeItem item = units[blockIdx.x];
    const int first_row = blockIdx.y * kMergeRows<D>;
    const int rows = min(heads.rows(item.head_slice) - first_row, kMergeRows<D>);
    wait_for_previous_kernel();
    allow_next_kernel();
    if (rows <= 0) return;
    const std::int64_t row = std::int64_t(item.sequence) * heads.query_heads + heads.first(item.head_slice);
    merge_parts<T, D>(item, first_row, rows, output + row * D, partials, weights);
}

}  // namespace headroom::kernels
