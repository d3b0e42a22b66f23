// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"

namespace headroom {

// What the kernels in kernels/ reach on one device, as `calibrate` fits them. They cut their work by known
// rules, so each number here is one of a block, of an SM or of the device; validate/bundled says how they add
// up. Shares are of the datasheet's bandwidth or matrix rate. `jitter` is how unequal equal blocks turn out,
// either way: it is what brings blocks out of step.

/// Read, write or copy (both directions counted).
struct BundledTransfer {
    Seconds launch;       ///< smallest transfer, launch included
    double memory = 0;    ///< share of the bandwidth beyond it
    double spread = 1.0;  ///< nine in ten calls lie within this factor of the model, either way
};

/// Decode attention, contiguous or paged. A step of a block is 64 tokens.
struct BundledDecode {
    Seconds launch;
    Seconds start;      ///< a block before its first tokens arrive and after its last
    Seconds row;        ///< the same for each query head of a warp, 128-wide heads
    Seconds latency;    ///< from asking for tokens to having them: a block has 64 KB on the way
    Seconds chain;      ///< one step's arithmetic of a warp, however few heads,
    Seconds narrow;     ///< and for 128-wide heads, up to 16 of them to a block,
    Seconds wide;       ///< or more
    Bandwidth sm;       ///< what one SM takes in
    double memory = 0;  ///< share of the bandwidth
    double page = 0;    ///< loss of bandwidth by pages of 16 tokens; half of it at 32
    double jitter = 0;
    Seconds merge;        ///< the kernel that merges parts, launch and all,
    Seconds trip;         ///< each of its loads that wait for each other,
    Bandwidth part_rate;  ///< all parts written and read back
    double spread = 1.0;  ///< nine in ten calls lie within this factor of the model, either way
};

/// Fused attention on mma.sync.
struct BundledFlash {
    Seconds launch;
    Seconds start;        ///< a block before its first tile and after its last
    double matrix64 = 0;  ///< share of the matrix rate that a full SM reaches, 64-wide heads,
    double matrix128 = 0;
    double matrix256 = 0;
    double alone = 0;  ///< rate of a block that has its SM alone, over the SM's
    double jitter = 0;
    double diagonal = 0;  ///< what masking costs, in tiles per block
    double causal = 0;    ///< time of a tile of the causal kernel over the full one's, up to 128-wide heads
    double spread = 1.0;  ///< nine in ten calls lie within this factor of the model, either way
};

/// The product of a few rows with streamed weights.
struct BundledStream {
    Seconds launch;
    Seconds start;         ///< a block before its first step and after its last
    Seconds latency;       ///< from asking for a step's bytes to having them
    Seconds step;          ///< arithmetic of 8 rows on 256 bytes of each of 64 outputs
    Bandwidth sm;          ///< what one SM takes in
    double memory = 0;     ///< share of the bandwidth
    Bandwidth l2;          ///< rows of x, which every block reads again
    Seconds merge;         ///< summing splits of the inputs in the last block,
    Bandwidth merge_rate;  ///< which reads them alone
    double spread = 1.0;   ///< nine in ten calls lie within this factor of the model, either way
};

}  // namespace headroom
