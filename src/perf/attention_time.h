// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "perf/product_time.h"
#include "spec/ceilings.h"

namespace headroom {

/// Whether the operands were left in L2 by an identical call just before. Kernel tables repeat one call, so
/// what fits in L2 is read from it; a layer of a served step finds its cache and weights cold.
enum class Residency { Cold, Warm };

/// Attention of `sequences` requests on one device. Heads are those of this device.
struct AttentionShape {
    double sequences = 0;
    double query_tokens = 1;  ///< new tokens of each sequence
    double context =
        0;  ///< tokens attended to, the new ones included (of a window layer: at most the window)
    double heads = 0;
    double kv_heads = 0;
    double qk_dim = 128;
    double v_dim = 128;
    double cache_element = 2;      ///< bytes of one cached value
    double schedule_kv_heads = 0;  ///< kv heads that the split schedule was made for; 0: `kv_heads`
    Residency residency = Residency::Cold;
};

/// One or a few new tokens per sequence against a long cache. A block walks the cache of one kv head of one
/// sequence in tiles of 128 tokens; where sequences x kv heads fill too few SMs the walk is split and merged:
///   launch + overlap(waves (block + tiles/splits tile), bytes / rate) + merge
KernelTime decode_attention_time(const AttentionShape& shape, const Ceilings& ceilings);

/// Causal attention of `query_tokens` new tokens each, after `context - query_tokens` cached ones:
///   launch + append + overlap(max(longest block, blocks/SMs mean block), bytes / rate) + copies
/// with tiles of 128 queries by 128 keys and matrix work counted on full tiles, the causal half skipped.
KernelTime prefill_attention_time(const AttentionShape& shape, const Ceilings& ceilings);

/// MLA on `context` latents of `latent_dim` (rank + rope) each; `heads` query heads on this device.
struct MlaShape {
    double sequences = 0;
    double query_tokens = 1;
    double context = 0;
    double heads = 0;
    double rank = 512;
    double rope_dim = 64;
    double nope_dim = 128;
    double v_dim = 128;
    double cache_element = 2;
    bool host_issued = false;   ///< outside a graph: the host issues each kernel of the call,
    bool host_issued8 = false;  ///< of the kernel that serves an 8-bit cache
};

KernelTime mla_decode_time(const MlaShape& shape, const Ceilings& ceilings);

/// The latent is first expanded to full keys and values, then attended to as by ordinary heads.
KernelTime mla_prefill_time(const MlaShape& shape, const Ceilings& ceilings);

}  // namespace headroom
