// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom::kernels {

// Sizes shared by the decode planner (host) and the decode kernel.

constexpr int kDecodeWarps = 4;
constexpr int kSlotTokens = 16;  // tokens that one warp copies at a time: the k of an mma
constexpr int kMaxRows = 64;     // query heads that share one read of K and V: 16 for each warp
constexpr int kMaxParts = 256;   // of one sequence's context
constexpr int kPartsAtOnce = 8;  // that a thread of the merge has on the way
constexpr int kBlocksPerMultiprocessor = 2;

// Copies in flight: at 4.6 TB/s over 132 multiprocessors and 1 us of latency about 35 KB are needed on each.
constexpr int decode_stages(int head_dim) { return head_dim == 64 ? 5 : head_dim == 128 ? 3 : 2; }

// Threads that share a row's parts in the merge, where one could not have all on the way.
constexpr int merge_groups(int head_dim) { return head_dim > 128 ? 2 : 4; }

// Loads of a merge that wait for each other.
constexpr int merge_trips(int head_dim, int parts) {
    const int at_once = (parts > kPartsAtOnce ? merge_groups(head_dim) : 1) * kPartsAtOnce;
    return (parts + at_once - 1) / at_once;
}

constexpr int decode_shared_bytes(int head_dim) {
    const int slot = 2 * kSlotTokens * head_dim * 2;  // K and V, two bytes each
    return decode_stages(head_dim) * kDecodeWarps * slot;
}

}  // namespace headroom::kernels
