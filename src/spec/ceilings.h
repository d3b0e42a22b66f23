// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"
#include "spec/bundled_ceilings.h"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace headroom {

/// What the datasheet promises of one device: the floor divides by these. A rate of zero means "not there".
struct Peaks {
    Bandwidth memory;
    Bytes l2;
    int sms = 0;
    FlopRate matrix16;  ///< dense bf16/fp16
    FlopRate matrix8;   ///< dense fp8 (int8 where there is no fp8); equals `matrix16` on devices with neither
    FlopRate matrix4;   ///< dense fp4; equals `matrix8` on devices without it
    Bandwidth link;     ///< scale-up, one direction, one device
    Frequency clock;    ///< of the SMs
};

/// How a product's inputs are fed: 16-bit; fp8 with one scale per tensor or row; fp8 with scales per 128 x
/// 128 block; integer weights of 4 or 8 bits widened to 16 in the kernel.
enum class ProductKind { Half, Fp8, Fp8Block, WeightOnly };
inline constexpr int product_kinds = 4;

/// A dense product. Times of one launch inside a graph.
struct ProductCeilings {
    Seconds launch;           ///< smallest product, start to finish
    Seconds fill;             ///< filling and draining one block's pipeline
    double matrix = 0.0;      ///< matrix rate of a running tile over the datasheet's
    Bandwidth tile_load;      ///< operands that one SM takes in (multicast counted at every taker)
    Seconds split;            ///< extra launch and synchronisation of a split over k
    Bandwidth split_rate;     ///< partial sums written and read back
    Seconds quantise;         ///< quantising the input: its launches,
    Seconds quantise_chain;   ///< its time per 1024 of k when rows are few,
    Bandwidth quantise_rate;  ///< and its rate over the 16-bit input when rows are many
    double spread = 1.0;      ///< nine in ten calls lie within this factor of the model, either way
};

/// Decode attention over a paged cache, with its cache write and its merge.
struct DecodeCeilings {
    Seconds launch;     ///< smallest call, start to finish
    Seconds block;      ///< one block before its first tile and after its last
    Seconds tile16;     ///< 128 tokens of a 128-wide 16-bit head in one block, one query tile
    Seconds tile8;      ///< the same from an 8-bit cache
    Seconds merge;      ///< merging the splits
    Seconds regroup;    ///< reordering q and the output by kv head, where the kernel needs it
    Bandwidth l2_rate;  ///< cache read from L2 when it fits there (kernel tables only: a served step is cold)
    double even = 0.0;  ///< 1: one schedule spreads tiles evenly; 0: the best of a few split counts
    double ungrouped = 1.0;  ///< 0: one query head per kv head is never split (FlashAttention-2 paged)
    double spread = 1.0;     ///< nine in ten calls lie within this factor of the model, either way
};

/// Prefill attention, with its cache write.
struct PrefillCeilings {
    Seconds launch;
    Seconds block;
    double matrix = 0.0;     ///< matrix rate of full tiles over the datasheet's
    double chain = 1.0;      ///< time of a tile alone on its SM over its share of a full machine
    double packed = 0.0;     ///< 1: query heads of a group share a tile of rows
    Seconds append;          ///< one block of the cache write (one token, up to 512 threads)
    double copies_q = 0.0;   ///< passes over q beyond reading it and writing the output
    double copies_kv = 0.0;  ///< passes over k and v beyond reading them once
    Bandwidth l2_rate;
    double spread = 1.0;  ///< nine in ten calls lie within this factor of the model, either way
};

/// Attention on a compressed latent (MLA). `host` is the time the host needs to issue the call's kernels one
/// by one; inside a graph it is not paid.
struct MlaCeilings {
    Seconds decode_host;
    Seconds host8;  ///< further host time of the kernels that serve an 8-bit cache
    Seconds decode_launch;
    Seconds decode_block;
    Seconds decode_tile;       ///< 64 tokens of the 576-wide latent in one block
    double decode_heads = 64;  ///< query heads that share one block
    double decode_splits = 0;  ///< fixed number of splits; 0: spread evenly
    double decode_copies = 0;  ///< passes over the absorbed queries and latent outputs
    Seconds prefill_host;
    Seconds prefill_launch;
    double prefill_matrix = 0;
    double prefill_copies = 0;  ///< passes over q, k, v and the output beyond the attention's own
    double decode_spread = 1.0;
    double prefill_spread = 1.0;
};

/// A grouped product of a mixture of experts, with its share of routing, sorting and the weighted sum.
struct ExpertCeilings {
    Seconds launch;  ///< one product of one token, routing or summing included
    double matrix = 0.0;
    Bandwidth tile_load;
    double copies = 0.0;  ///< passes over the rows outside the products and the activation
    double spread = 1.0;  ///< nine in ten calls lie within this factor of the model, either way
};

/// Passes over memory: norms, activations, look-ups.
struct StreamCeilings {
    Seconds launch;       ///< a small kernel inside a graph, behind another that it depends on
    Seconds issue;        ///< from one kernel to the next where the host issues each
    double spread = 1.0;  ///< nine in ten calls lie within this factor of the model, either way
};

/// Collectives over the scale-up links.
struct CollectiveCeilings {
    Seconds base;              ///< first step of the low-latency protocol
    Seconds hop;               ///< each further step
    double low_latency = 0.0;  ///< its share of the link rate
    Seconds bulk;              ///< what the bandwidth protocol costs before its first byte
    double ring = 0.0;         ///< its share of the link rate: ring algorithms,
    double in_switch = 0.0;    ///< all-reduce inside the switch (0: there is none),
    double pairs = 0.0;        ///< all to all
    Seconds one_shot;          ///< smallest engine all-reduce: every device reads all others
    double spread = 1.0;       ///< nine in ten calls lie within this factor of the model, either way
};

/// Kernels in kernels/ (nothing that serves runs them), and the vendor's library as they call it.
struct BundledLibrary {
    ProductCeilings tile;
    double sustained = 0;  ///< share of the matrix rate that the power limit lets a long product keep
};
struct BundledCeilings {
    BundledTransfer read, write, copy;
    BundledDecode decode;
    BundledFlash flash;
    BundledStream stream;
    BundledLibrary half, fp8;  ///< cuBLASLt's products
};

/// What one device reaches, by kind of kernel. Fitted openly by `fit`; each value has a bound and a meaning
/// in `parameters()`, and its source stands in the data file it came from.
struct Ceilings {
    Peaks peaks;
    double memory = 0.0;  ///< reachable share of the memory bandwidth
    std::array<ProductCeilings, product_kinds> product;
    DecodeCeilings decode;
    PrefillCeilings prefill;
    MlaCeilings mla;
    std::array<ExpertCeilings, product_kinds> experts;
    StreamCeilings stream;
    CollectiveCeilings collective;
    BundledCeilings bundled;

    Bandwidth memory_rate() const { return memory * peaks.memory; }
};

/// What a number turns into on a device that was not measured. Most are shares of a peak or work of the host
/// and stay as they are.
enum class Carries {
    as_it_is,
    cycles,         ///< a latency inside the SMs: the same number of clocks
    sm_rate,        ///< what one SM takes in: bytes per clock; of few wide cores 1.5 shares of the memory
    l2_rate,        ///< of all SMs together: bytes per clock and SM
    memory_share,   ///< time of an SM that waits for its share of the memory bandwidth
    kernel_choice,  ///< which kernel the software runs there, known from its sources
};

/// One number of `Ceilings`: its dotted name in the data files, the unit it is written in, the bounds that a
/// fit must respect, and what it means.
struct CeilingParameter {
    std::string name;
    std::string_view unit;
    double low;
    double high;
    std::string_view meaning;
    double (*get)(const Ceilings&);
    void (*set)(Ceilings&, double);
    Carries carries = Carries::as_it_is;
};

/// All of them, in the order of the structs above.
std::span<const CeilingParameter> ceiling_parameters();

/// `value` of a parameter fitted on a device with the peaks `from`, on one with `to`.
double carried(const CeilingParameter& parameter, double value, const Peaks& from, const Peaks& to);

/// The one called `name`, or nullptr.
const CeilingParameter* find_ceiling(std::string_view name);

}  // namespace headroom
