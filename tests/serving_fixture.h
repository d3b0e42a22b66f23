// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check.h"
#include "io/catalogue.h"
#include "io/engine_yaml.h"
#include "io/hardware_yaml.h"
#include "ops/shard.h"

namespace headroom::test {

inline Hardware device(const std::string& name) {
    const std::string data = source("");
    return read_hardware(find_entry(data, "hwprofiles", name), data);
}

inline Engine engine(const std::string& name) { return read_engine(find_entry(source(""), "engines", name)); }

/// Llama-3-70B, or a small model of the same shape.
inline Model dense_model(std::int64_t hidden, int layers, int heads, int kv_heads, std::int64_t inner) {
    Model m;
    m.name = "dense";
    m.hidden = hidden;
    m.vocabulary = 128256;
    m.norm = NormKind::rms;
    SoftmaxAttention attention;
    attention.heads = heads;
    attention.kv_heads = kv_heads;
    attention.head_dim = attention.value_dim = 128;
    Layer layer;
    layer.name = "layer";
    layer.mixer = attention;
    layer.feed_forward = DenseFeedForward{.intermediate = inner};
    m.kinds = {layer};
    m.layout.assign(static_cast<std::size_t>(layers), 0);
    return m;
}
inline Model llama_70b() { return dense_model(8192, 80, 64, 8, 28672); }
inline Model llama_8b() { return dense_model(4096, 32, 32, 8, 14336); }

}  // namespace headroom::test
