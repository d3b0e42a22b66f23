// SPDX-License-Identifier: Apache-2.0
#include "io/hf_family.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr int kMostLayers = 10'000;

std::int64_t required_or(JsonMap& config, JsonMap::Names names, std::int64_t fallback) {
    return fallback > 0 ? config.count_or(names, fallback, 1) : config.count(names);
}

}  // namespace

int read_outer(HfReading& r, const HfDefaults& d) {
    r.model.hidden = required_or(r.config, {"hidden_size", "n_embd", "d_model"}, d.hidden);
    r.model.vocabulary = required_or(r.config, {"vocab_size", "padded_vocab_size"}, d.vocabulary);
    r.model.max_context = r.config.count_or({"max_position_embeddings", "n_positions", "seq_length",
                                             "max_seq_len", "max_sequence_length", "n_ctx"},
                                            d.max_context);
    r.model.tied_embeddings = r.config.flag({"tie_word_embeddings", "weight_tying"}, d.tied);
    const auto layers =
        required_or(r.config, {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, d.layers);
    if (layers > kMostLayers) {
        r.config.fault("num_hidden_layers", fmt::format("{} layers are more than any model has", layers));
        return 1;
    }
    return static_cast<int>(layers);
}

HfTrunk read_trunk(HfReading& r, const HfDefaults& d) {
    HfTrunk t;
    t.layers = read_outer(r, d);
    t.heads = static_cast<int>(required_or(r.config, {"num_attention_heads", "n_head", "n_heads"}, d.heads));
    t.kv_heads =
        static_cast<int>(r.config.count_or({"num_key_value_heads", "n_kv_heads", "n_head_kv", "num_kv_heads"},
                                           d.kv_heads > 0 ? d.kv_heads : t.heads, 1));
    const std::int64_t quotient = d.head_dim > 0 ? d.head_dim : r.model.hidden / t.heads;
    t.head_dim =
        static_cast<int>(r.config.count_or({"head_dim", "attention_head_dim", "kv_channels"}, quotient, 1));
    if (t.head_dim == 0)
        r.config.consequence("num_attention_heads",
                             fmt::format("{} heads are more than the width {}", t.heads, r.model.hidden));
    if (t.kv_heads > 0 && t.heads % t.kv_heads != 0) {
        r.config.consequence("num_key_value_heads",
                             fmt::format("{} key-value heads do not divide {} heads", t.kv_heads, t.heads));
    }
    return t;
}

std::int64_t read_intermediate(HfReading& r, std::int64_t fallback) {
    return required_or(r.config,
                       {"intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner", "mlp_hidden_size"},
                       fallback);
}

SoftmaxAttention grouped_attention(const HfTrunk& t) {
    SoftmaxAttention a;
    a.heads = t.heads;
    a.kv_heads = t.kv_heads;
    a.head_dim = t.head_dim;
    a.value_dim = t.head_dim;
    return a;
}

void set_bias(SoftmaxAttention& attention, bool qkv, bool output) {
    attention.qkv_bias = qkv;
    attention.output_bias = output;
}

std::vector<std::string> read_layer_types(HfReading& r, int layers,
                                          const std::function<std::string(int)>& otherwise) {
    std::vector<std::string> types =
        r.config.maybe_texts({"layer_types", "layers_block_type"}).value_or(std::vector<std::string>{});
    if (types.empty()) {
        for (int i = 0; i < layers; ++i) types.push_back(otherwise(i));
    }
    if (types.size() != static_cast<std::size_t>(layers)) {
        r.config.consequence("layer_types", fmt::format("{} entries for {} layers", types.size(), layers));
        types.resize(static_cast<std::size_t>(layers), types.back());
    }
    return types;
}

void add_layer(Model& model, const Layer& layer) {
    const auto equal = [&](const Layer& other) {
        Layer renamed = layer;
        renamed.name = other.name;
        return renamed == other;
    };
    auto at = std::find_if(model.kinds.begin(), model.kinds.end(), equal);
    if (at == model.kinds.end()) {
        Layer fresh = layer;
        const auto taken = [&](const std::string& name) {
            return std::any_of(model.kinds.begin(), model.kinds.end(),
                               [&](const Layer& k) { return k.name == name; });
        };
        for (int n = 2; taken(fresh.name); ++n) fresh.name = layer.name + "-" + std::to_string(n);
        model.kinds.push_back(std::move(fresh));
        at = model.kinds.end() - 1;
    }
    model.layout.push_back(static_cast<int>(at - model.kinds.begin()));
}

void add_layers(Model& model, int count, const Layer& layer) {
    for (int i = 0; i < count; ++i) add_layer(model, layer);
}

std::vector<std::span<const HfFamily>> hf_families() {
    return {hf_dense_families(),  hf_early_families(), hf_expert_families(),     hf_latent_families(),
            hf_hybrid_families(), hf_gemma_families(), hf_compressed_families(), hf_tied_families()};
}

int product(HfReading& r, std::string_view key, std::int64_t a, std::int64_t b) {
    constexpr std::int64_t most = 1'000'000'000;
    if (a <= 0 || b <= most / a) return static_cast<int>(a * b);
    r.config.fault(key, fmt::format("{} x {} is more than any model has", a, b));
    return 1;
}

void give_up(HfReading& r, std::string_view key, std::string message) {
    r.config.consequence(key, std::move(message));
    r.complete = false;
}

std::int64_t useful_window(const Model& model, std::int64_t window) {
    return model.max_context > 0 && window >= model.max_context ? 0 : window;
}

void add_windowed_layers(HfReading& r, const std::vector<std::string>& types, std::int64_t window,
                         SoftmaxAttention attention, const FeedForward& feed_forward, int norms) {
    for (const std::string& type : types) {
        attention.window = type == "sliding_attention" ? useful_window(r.model, window) : 0;
        add_layer(r.model, {.name = attention.window > 0 ? "local" : "global",
                            .mixer = attention,
                            .feed_forward = feed_forward,
                            .norms = norms});
    }
}

}  // namespace headroom
