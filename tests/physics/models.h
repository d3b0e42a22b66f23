// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/shard.h"
#include "spec/model.h"

#include <cstdint>

namespace headroom::test {

/// A model of equal layers of grouped-query attention and a gated feed-forward part.
inline Model grouped_model(int layers, std::int64_t hidden, int heads, int kv_heads, int head_dim,
                           std::int64_t intermediate, std::int64_t vocabulary) {
    Model m;
    m.hidden = hidden;
    m.vocabulary = vocabulary;
    SoftmaxAttention a;
    a.heads = heads;
    a.kv_heads = kv_heads;
    a.head_dim = a.value_dim = head_dim;
    m.kinds = {{.name = "layer", .mixer = a, .feed_forward = DenseFeedForward{.intermediate = intermediate}}};
    m.layout.assign(static_cast<std::size_t>(layers), 0);
    return m;
}

inline Model llama_3_8b() { return grouped_model(32, 4096, 32, 8, 128, 14336, 128256); }
inline Model llama_3_70b() { return grouped_model(80, 8192, 64, 8, 128, 28672, 128256); }
inline Model llama_2_7b() { return grouped_model(32, 4096, 32, 32, 128, 11008, 32000); }

inline double kv_per_token(const Model& m) { return growth(kv_of(m)).base(); }

}  // namespace headroom::test
