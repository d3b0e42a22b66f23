// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/launch.cuh"
#include "common/mma.cuh"
#include "decode_attention/decode_attention.h"
#include "decode_attention/decode_limits.h"

#include <cstdint>

// From the running rows of a block's warps to the item's result, and by a second kernel from a unit's partial
// results to its output. Results over disjoint tokens combine exactly: with s_i the log2 of the sum of
// exponentials and o_i the normalised output of part i, o = sum_i 2^(s_i - s) o_i where 2^s = sum_i 2^(s_i).

namespace headroom::kernels {

struct PartialResults {
    float* outputs;  // [partial][row][D]
    float* sums;     // [partial][row]
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
}

// `Groups` of threads share the parts of a row; more of them for many parts.
template <int D, int Groups>
constexpr int kMergeRows = kDecodeWarps * 32 / (D / 4) / Groups;

// The weights of the parts of `rows` rows in shared memory, [part][row]: their shares of the sum of
// exponentials. `sums` is the first part's first row.
__device__ inline void share_out(float* weights, const float* sums, int parts, int rows, int row_stride) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int row = warp; row < rows; row += kDecodeWarps) {
        float largest = -INFINITY;
        for (int part = lane; part < parts; part += 32) {
            const float sum = __ldcg(sums + part * row_stride + row);
            weights[part * rows + row] = sum;
            largest = fmaxf(largest, sum);
        }
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, step));
        float total = 0;
        for (int part = lane; part < parts; part += 32) {
            const float weight = exp2f(weights[part * rows + row] - largest);
            weights[part * rows + row] = weight;
            total += weight;
        }
#pragma unroll
        for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffff, total, step);
        for (int part = lane; part < parts; part += 32) weights[part * rows + row] /= total;
    }
}

// One column of blocks to a unit. Merging in the block that finishes a unit last saves a launch, but one
// block's loads wait for each other, 0.6 us each: it was slower wherever a unit has more than a few rows.
template <class T, int D, int Groups>
__global__ void __launch_bounds__(kDecodeWarps * 32)
    merge_kernel(const DecodeItem* units, T* output, const PartialResults partials, HeadRows heads) {
    constexpr int kColumns = D / 4;  // of four values
    constexpr int kRows = kMergeRows<D, Groups>;
    __shared__ float weights[kMaxParts * kRows];
    __shared__ float4 others[Groups > 1 ? (Groups - 1) * kRows * kColumns : 1];
    const DecodeItem item = units[blockIdx.x];
    const int first_row = blockIdx.y * kRows;
    const int rows = min(heads.rows(item.head_slice) - first_row, kRows);
    const int place = threadIdx.x % (kRows * kColumns), group = threadIdx.x / (kRows * kColumns);
    const int row = place / kColumns;
    const std::int64_t first = std::int64_t(item.first_partial) * partials.row_stride + first_row;
    const auto* outputs = reinterpret_cast<const float4*>(partials.outputs) + first * kColumns + place;
    const std::int64_t part_stride = std::int64_t(partials.row_stride) * kColumns;
    const int parts = row < rows ? item.parts : 0;
    wait_for_previous_kernel();
    allow_next_kernel();
    if (rows <= 0) return;
    float4 fetched[kPartsAtOnce];  // beside the weights
#pragma unroll
    for (int i = 0; i < kPartsAtOnce; ++i) {
        const int part = group + i * Groups;
        if (part < parts) fetched[i] = __ldcg(outputs + part * part_stride);
    }
    share_out(weights, partials.sums + first, item.parts, rows, partials.row_stride);
    __syncthreads();
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < kPartsAtOnce; ++i) {
        const int part = group + i * Groups;
        if (part < parts) add_scaled(sum, weights[part * rows + row], fetched[i]);
    }
#pragma unroll kPartsAtOnce
    for (int part = group + kPartsAtOnce * Groups; part < parts; part += Groups)
        add_scaled(sum, weights[part * rows + row], __ldcg(outputs + part * part_stride));
    if constexpr (Groups > 1) {
        if (group > 0) others[(group - 1) * kRows * kColumns + place] = sum;
        __syncthreads();
        if (group > 0) return;
#pragma unroll
        for (int other = 0; other < Groups - 1; ++other)
            add_scaled(sum, 1, others[other * kRows * kColumns + place]);
    }
    const std::int64_t output_row =
        std::int64_t(item.sequence) * heads.query_heads + heads.first(item.head_slice) + first_row;
    if (row < rows) store_four(output + output_row * D + std::int64_t(place) * 4, sum);
}

}  // namespace headroom::kernels
