// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tile sizes of the fused kernel: pure host code, for the kernel and for the model of it.

namespace headroom::kernels {

// 32 query rows to a warp halve the shared-memory reads of K and V for each product. 256-wide heads leave
// registers for 16, or for 32 rows of two warps together where the device has the shared memory (`Large`).
template <int D, bool Large>
struct FlashTile {
    static constexpr bool kWide = D == 256;
    static constexpr bool kPaired = kWide && Large;
    static constexpr int kWarps = kPaired ? 8 : 4;
    static constexpr int kBlocks = kPaired ? 1 : 2;              // on a multiprocessor
    static constexpr int kRowTiles = kWide && !kPaired ? 1 : 2;  // of 16 rows, to a warp or a pair of warps
    static constexpr int kRows = kWarps / (kPaired ? 2 : 1) * kRowTiles * 16;
    static constexpr int kTokens = kWide && !Large ? 32 : 64;
    static constexpr int kTileBytes = kTokens * D * 2;
    static constexpr int kExchangedBytes = kPaired ? kRows * kTokens * 2 : 0;  // probabilities
    static constexpr int kSharedBytes = kRows * D * 2 + 4 * kTileBytes + kExchangedBytes;
};

}  // namespace headroom::kernels
