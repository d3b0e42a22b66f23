// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"
#include "ops/batch.h"
#include "spec/precision.h"

#include <string>
#include <variant>
#include <vector>

namespace headroom {

/// What an operator must do, whatever the device. `weights` and `kv` are compulsory traffic; `activations`
/// may stay in a cache, so the floor does not count them.
struct Work {
    Flops flop;
    Bytes weights;
    Bytes kv;  ///< cache and states read
    Bytes kv_written;
    Bytes activations;

    constexpr Work& operator+=(const Work& other) {
        flop += other.flop;
        weights += other.weights;
        kv += other.kv;
        kv_written += other.kv_written;
        activations += other.activations;
        return *this;
    }
    friend constexpr Work operator*(double n, const Work& w) {
        return {n * w.flop, n * w.weights, n * w.kv, n * w.kv_written, n * w.activations};
    }
};

constexpr Bytes compulsory_bytes(const Work& w) { return w.weights + w.kv + w.kv_written; }
constexpr Bytes hbm_bytes(const Work& w) { return compulsory_bytes(w) + w.activations; }

/// `rows` x k times `groups` matrices of k x n, the rows dealt out over the groups: a plain product has one
/// group, an expert layer as many as its tokens touch.
struct Matmul {
    double rows = 0;  ///< over all groups
    double outputs = 0;
    double inputs = 0;
    double groups = 1;
    StorageFormat weights{};
    ElementType activation = ElementType::bf16;
};

/// Scores and values of one layer: every fresh token against the tokens it sees.
struct Attention {
    std::vector<SequenceGroup> groups;
    double heads = 0;
    double kv_heads = 0;  ///< separately stored heads; 1 for MLA's latent
    double key_dim = 0;
    double value_dim = 0;
    double reach = 0;         ///< tokens that a query sees at most; 0: all
    bool chunked = false;     ///< it sees its own chunk of `reach` tokens, not the last `reach` ones
    double scored_reach = 0;  ///< sparse selection: tokens attended at most; 0: all that are in reach
    BytesPerToken
        kv_per_token;       ///< bytes of cache that one token occupies in this layer and that attention reads
    bool stores_kv = true;  ///< false where the layer reads another layer's cache
    ElementType compute = ElementType::bf16;
    ElementType activation = ElementType::bf16;
    ElementType cache = ElementType::bf16;  ///< of keys and values
    bool latent = false;                    ///< keys and values are one latent vector: read once
};

/// A pass over memory: norms, activations, state updates, table look-ups.
struct Stream {
    Work work;
    ElementType compute = ElementType::fp32;
};

enum class CollectiveKind { all_reduce, all_gather, reduce_scatter, all_to_all, send };

/// `bytes` is the size of one GPU's message: what it contributes to a reduction, gathers in all, or sends.
struct Collective {
    CollectiveKind kind = CollectiveKind::all_reduce;
    Bytes bytes;
    int gpus = 1;
};

using Shape = std::variant<Matmul, Attention, Stream, Collective>;

/// One operator of a step on one GPU; it runs `count` times (once per layer of its kind).
struct Operator {
    std::string name;
    Shape shape;
    double count = 1;
};

/// The one place that counts FLOPs and bytes of an operator (once, not times `count`).
Work work(const Matmul& op);
Work work(const Attention& op);
Work work(const Stream& op);
Work work(const Collective& op);
Work work(const Operator& op);

/// Sum over a step.
Work total_work(const std::vector<Operator>& step);

/// Bytes that one GPU puts on its link: ring all-reduce 2 (n-1)/n of the message, gather, scatter and
/// all-to-all (n-1)/n.
Bytes link_bytes(const Collective& op);

}  // namespace headroom
