// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/async_copy.cuh"
#include "common/error.h"
#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/online_softmax.cuh"
#include "decode_attention/decode_attention.h"
#include "decode_attention/decode_limits.h"
#include "decode_attention/decode_merge.cuh"

// Decode attention for any cache whose addressing policy can say where 8 consecutive tokens lie.
//
// A block of four warps works on one item. The query heads of a group are the rows of an mma tile (16 to a
// warp), so K and V are read once for all of them. Each warp copies its own slots of 16 tokens, several
// ahead, and waits only for its team: the warps that need the same tokens. Up to 16 heads a team is one warp
// and the four warps split the tokens; beyond, a team is four warps that split the heads. There is no
// block-wide barrier in the main loop.

namespace headroom::kernels {

// Cache offsets travel in units of 64 elements, so that 32 bits reach 256 G elements.
constexpr int kOffsetUnit = 64;

struct DecodeParameters {
    const DecodeItem* items;
    const void* query;
    void* output;
    PartialResults partials;
    float scale_log2;  // scale * log2(e): the softmax works in base 2
    HeadRows heads;
};

// Offsets of the tokens that a warp will copy: lane i holds those of step i of the current window of 32, and
// one window more is already on its way, so that a table look-up is never waited for.
template <class Cache>
class OffsetWindow {
  public:
    __device__ OffsetWindow(const Cache& cache, const DecodeItem& item, int kv_head, int warp, int lane)
        : cache_(cache), item_(item), kv_head_(kv_head), warp_(warp), lane_(lane) {
        fetch(0, low_, high_);
        fetch(1, next_low_, next_high_);
    }

    // For steps in rising order. Offsets of tokens 0..7 and 8..15 of the warp's slot.
    __device__ void get(int step, std::uint32_t& low, std::uint32_t& high) {
        if (step / 32 != window_) {
            window_ = step / 32;
            low_ = next_low_;
            high_ = next_high_;
            fetch(window_ + 1, next_low_, next_high_);
        }
        low = __shfl_sync(0xffffffff, low_, step & 31);
        high = __shfl_sync(0xffffffff, high_, step & 31);
    }

  private:
    // Tokens past the end take the last valid place: padding entries of a block table are never looked at.
    __device__ void fetch(int window, std::uint32_t& low, std::uint32_t& high) const {
        const int token = item_.begin + ((window * 32 + lane_) * kDecodeWarps + warp_) * kSlotTokens;
        const int last = (item_.end - 1) & ~7;
        low = cache_.offset(item_.sequence, kv_head_, min(token, last));
        high = cache_.offset(item_.sequence, kv_head_, min(token + 8, last));
    }

    const Cache& cache_;
    const DecodeItem& item_;
    int kv_head_, warp_, lane_;
    int window_ = 0;
    std::uint32_t low_, high_, next_low_, next_high_;
};

// Copies one slot, K then V, into swizzled rows. Tokens at or past `valid` become zeros.
template <class T, int D>
__device__ void copy_slot(std::uint32_t shared, const T* keys, const T* values, std::uint32_t low,
                          std::uint32_t high, std::int64_t token_stride, int valid, int lane) {
    constexpr int kChunks = D / 8;
    constexpr int kRows = 32 / kChunks;  // by one instruction of the warp
    const int lane_row = lane / kChunks;
    const int lane_chunk = lane % kChunks;
#pragma unroll
    for (int matrix = 0; matrix < 2; ++matrix) {
        const T* base = matrix == 0 ? keys : values;
        const T* halves[2] = {base + std::int64_t(low) * kOffsetUnit + lane_chunk * 8,
                              base + std::int64_t(high) * kOffsetUnit + lane_chunk * 8};
#pragma unroll
        for (int i = 0; i < kSlotTokens / kRows; ++i) {
            const int row = i * kRows + lane_row;
            copy_16_async<Reuse::kOnce>(
                shared + matrix * kSlotTokens * D * 2 + swizzled<kChunks>(row, lane_chunk),
                halves[i * kRows / 8] + (row & 7) * token_stride, row < valid);
        }
    }
}

template <int Team>
__device__ void team_barrier() {
    static_assert(Team == 1 || Team == kDecodeWarps);
    if constexpr (Team == 1) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

// The A operand: rows are query heads first_row.. of the slice; rows past the slice are zeros.
template <class T, int D>
__device__ void load_query(std::uint32_t (&q)[D / 16][4], const T* query, int first_row, int rows, int lane) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const int row = first_row + r * 8 + lane / 4;
        const T* source = query + std::int64_t(row) * D + 2 * (lane & 3);
#pragma unroll
        for (int k = 0; k < D / 16; ++k) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                q[k][r + 2 * half] =
                    row < rows ? *reinterpret_cast<const std::uint32_t*>(source + k * 16 + half * 8) : 0u;
            }
        }
    }
}

template <class T, int D, int Team, class Cache>
__global__ void __launch_bounds__(kDecodeWarps * 32, kBlocksPerMultiprocessor)
    decode_kernel(const DecodeParameters parameters, const Cache cache) {
    constexpr int kStages = decode_stages(D);
    constexpr int kSlotBytes = 2 * kSlotTokens * D * 2;
    constexpr int kSlotsAtOnce = Team == 1 ? 1 : D == 256 ? 2 : 4;
    extern __shared__ __align__(1024) unsigned char shared[];
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const DecodeItem item = parameters.items[blockIdx.x];
    const int kv_head = item.head_slice / parameters.heads.slices;
    const int rows = parameters.heads.rows(item.head_slice);
    const int slots = (item.end - item.begin + kSlotTokens - 1) / kSlotTokens;
    const int steps = (slots + kDecodeWarps - 1) / kDecodeWarps;
    const auto* keys = static_cast<const T*>(cache.keys);
    const auto* values = static_cast<const T*>(cache.values);
    const std::uint32_t base = shared_address(shared);

    OffsetWindow<Cache> window(cache, item, kv_head, warp, lane);
    const auto copy_step = [&](int step) {
        if (step < steps) {
            std::uint32_t low, high;
            window.get(step, low, high);
            const int slot = step * kDecodeWarps + warp;
            const int valid = item.end - item.begin - slot * kSlotTokens;
            copy_slot<T, D>(base + ((step % kStages) * kDecodeWarps + warp) * kSlotBytes, keys, values, low,
                            high, cache.token_stride, valid, lane);
        }
        commit_copies();
    };
    // What precedes may run beside the end of the kernel before: plans and block tables are not its results.
    wait_for_previous_kernel();
#pragma unroll
    for (int step = 0; step < kStages - 1; ++step) copy_step(step);

    const int team = warp / Team;
    const int first_row = (warp % Team) * 16;
    const std::int64_t query_row =
        std::int64_t(item.sequence) * parameters.heads.query_heads + parameters.heads.first(item.head_slice);
    std::uint32_t q[D / 16][4];
    load_query<T, D>(q, static_cast<const T*>(parameters.query) + query_row * D, first_row, rows, lane);
    const auto query = [&](int k, std::uint32_t(&a)[1][4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[0][i] = q[k][i];
    };
    OnlineSoftmax<T, D, 1> state;

    for (int step = 0; step < steps; ++step) {
        wait_for_copies<kStages - 2>();
        team_barrier<Team>();
        copy_step(step + kStages - 1);
        if (Team > 1 && first_row >= rows) continue;
#pragma unroll 1
        for (int i = 0; i < Team; i += kSlotsAtOnce) {
            const int place = team * Team + i;
            const int valid = item.end - item.begin - (step * kDecodeWarps + place) * kSlotTokens;
            if (valid <= 0) break;
            const std::uint32_t tile = base + ((step % kStages) * kDecodeWarps + place) * kSlotBytes;
            float s[1][2 * kSlotsAtOnce][4] = {};
            state.template scores<kSlotBytes>(s, query, tile, lane);
            if (valid < kSlotsAtOnce * kSlotTokens)
                state.mask(
                    s, [&](int, int) { return valid; }, lane);
            state.soften(s, parameters.scale_log2);
            state.template accumulate<kSlotBytes>(s, tile + kSlotBytes / 2, lane);
        }
    }
    wait_for_copies<0>();
    // Not before: blocks of the next kernel that come early fill the multiprocessors unevenly.
    allow_next_kernel();
    finish_item<T, D, Team>(state, item, rows, query_row, static_cast<T*>(parameters.output),
                            parameters.partials, parameters.scale_log2, shared);
}

template <class T, int D, int Groups>
void launch_merge(const DecodePlan& plan, const DecodeParameters& parameters, Stream stream) {
    constexpr int rows = kMergeRows<D, Groups>;
    const auto columns = static_cast<unsigned>((plan.rows_per_slice() + rows - 1) / rows);
    launch_overlapped(merge_kernel<T, D, Groups>, dim3(static_cast<unsigned>(plan.merges()), columns),
                      dim3(kDecodeWarps * 32), 0, stream, plan.device_merges(),
                      static_cast<T*>(parameters.output), parameters.partials, parameters.heads);
}

template <class T, int D, int Team, class Cache>
void launch_decode_kernel(const DecodePlan& plan, const DecodeParameters& parameters, const Cache& cache,
                          Stream stream) {
    constexpr int bytes = decode_shared_bytes(D);
    HEADROOM_REQUIRE(static_cast<std::size_t>(bytes) + 2048 <= device_info().shared_bytes_per_block,
                     "decode attention: this head dimension needs more shared memory than the device has");
    static const bool raised = [] {
        HEADROOM_CUDA(cudaFuncSetAttribute(decode_kernel<T, D, Team, Cache>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        return true;
    }();
    static_cast<void>(raised);
    launch_overlapped(decode_kernel<T, D, Team, Cache>, dim3(static_cast<unsigned>(plan.items())),
                      dim3(kDecodeWarps * 32), bytes, stream, parameters, cache);
    if (plan.merges() == 0) return;
    if (plan.most_parts() > kPartsAtOnce)
        launch_merge<T, D, merge_groups(D)>(plan, parameters, stream);
    else
        launch_merge<T, D, 1>(plan, parameters, stream);
}

template <class T, class Cache>
void launch_decode_typed(const DecodePlan& plan, const DecodeParameters& parameters, const Cache& cache,
                         Stream stream) {
    const bool wide = plan.rows_per_slice() > 16;
    switch (plan.shape().head_dim) {
        case 64:
            return wide ? launch_decode_kernel<T, 64, 4>(plan, parameters, cache, stream)
                        : launch_decode_kernel<T, 64, 1>(plan, parameters, cache, stream);
        case 128:
            return wide ? launch_decode_kernel<T, 128, 4>(plan, parameters, cache, stream)
                        : launch_decode_kernel<T, 128, 1>(plan, parameters, cache, stream);
        default:
            return wide ? launch_decode_kernel<T, 256, 4>(plan, parameters, cache, stream)
                        : launch_decode_kernel<T, 256, 1>(plan, parameters, cache, stream);
    }
}

template <class Cache>
void launch_decode(const DecodePlan& plan, const void* query, const Cache& cache, void* output, float scale,
                   Stream stream) {
    const auto& shape = plan.shape();
    const DecodeParameters parameters{
        plan.device_items(),
        query,
        output,
        {plan.partial_outputs(), plan.partial_sums(), plan.rows_per_slice()},
        scale * 1.4426950408889634f,
        {shape.query_heads, shape.group(), plan.slices(), plan.rows_per_slice()}};
    if (shape.dtype == DType::kFp16) return launch_decode_typed<__half>(plan, parameters, cache, stream);
    launch_decode_typed<__nv_bfloat16>(plan, parameters, cache, stream);
}

}  // namespace headroom::kernels
