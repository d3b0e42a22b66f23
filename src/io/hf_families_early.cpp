// SPDX-License-Identifier: Apache-2.0
// Decoders before LLaMA: layer norms with biases, feed-forward parts of two matrices, position tables.
#include "io/hf_family.h"

#include <array>

namespace headroom {
namespace {

void gpt2(HfReading& r) {
    const HfTrunk t = read_trunk(r, {.tied = true});
    SoftmaxAttention a = grouped_attention(t);
    set_bias(a, true, true);
    r.model.norm = NormKind::layer;
    r.model.extras.push_back(
        {"position_embedding", r.model.max_context, r.model.hidden, Role::embedding, false});
    const DenseFeedForward f{
        .intermediate = read_intermediate(r, 4 * r.model.hidden), .gated = false, .bias = true};
    add_layers(r.model, t.layers, {.name = "layer", .mixer = a, .feed_forward = f});
}

void gptj(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    r.model.norm = NormKind::layer;
    r.model.head_bias = true;
    const DenseFeedForward f{
        .intermediate = read_intermediate(r, 4 * r.model.hidden), .gated = false, .bias = true};
    add_layers(r.model, t.layers,
               {.name = "layer", .mixer = grouped_attention(t), .feed_forward = f, .norms = 1});
}

void gpt_neox(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, true);
    set_bias(a, bias, bias);
    r.model.norm = NormKind::layer;
    const DenseFeedForward f{.intermediate = read_intermediate(r), .gated = false, .bias = true};
    add_layers(r.model, t.layers, {.name = "layer", .mixer = a, .feed_forward = f});
}

// The table has two rows before the first position. OPT-350m embeds into half its width and projects.
void opt(HfReading& r) {
    const HfTrunk t = read_trunk(r, {.tied = true});
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"enable_bias"}, true);
    set_bias(a, bias, bias);
    Model& m = r.model;
    m.norm = NormKind::layer;
    const bool norm_first = r.config.flag({"do_layer_norm_before"}, true);
    m.final_norm = norm_first && !r.config.flag({"_remove_final_layer_norm"}, false);
    const auto width = r.config.count_or({"word_embed_proj_dim"}, m.hidden, 1);
    if (width != m.hidden) {
        m.embedding_width = width;
        m.extras.push_back({"project_in", m.hidden, width, Role::ffn, true});
        m.extras.push_back({"project_out", width, m.hidden, Role::ffn, true});
    }
    m.extras.push_back({"position_embedding", m.max_context + 2, m.hidden, Role::embedding, false});
    const DenseFeedForward f{.intermediate = read_intermediate(r), .gated = false, .bias = bias};
    add_layers(m, t.layers, {.name = "layer", .mixer = a, .feed_forward = f});
}

void mpt(HfReading& r) {
    HfTrunk t = read_trunk(r, {.tied = true});
    bool alibi = false;
    QkNorm qk_norm = QkNorm::none;
    if (auto attention = r.config.map("attn_config")) {
        alibi = attention->flag({"alibi"}, false);
        if (attention->flag({"qk_ln"}, false)) qk_norm = QkNorm::projection;
        const std::string type = attention->text({"attn_type"}, "multihead_attention");
        if (type == "multiquery_attention") t.kv_heads = 1;
        t.kv_heads = static_cast<int>(attention->count_or({"kv_n_heads"}, t.kv_heads, 1));
    }
    const bool bias = !r.config.flag({"no_bias"}, false);
    SoftmaxAttention a = grouped_attention(t);
    set_bias(a, bias, bias);
    a.qk_norm = qk_norm;
    r.model.norm = bias ? NormKind::layer : NormKind::rms;
    if (r.config.flag({"learned_pos_emb"}, true) && !alibi) {
        r.model.extras.push_back(
            {"position_embedding", r.model.max_context, r.model.hidden, Role::embedding, false});
    }
    const DenseFeedForward f{.intermediate = r.config.count_or({"expansion_ratio"}, 4, 1) * r.model.hidden,
                             .gated = false,
                             .bias = bias};
    add_layers(r.model, t.layers, {.name = "layer", .mixer = a, .feed_forward = f});
}

// num_kv_heads counts only in the new architecture; in the old one multi_query alone decides.
void falcon(HfReading& r) {
    HfTrunk t = read_trunk(r, {.max_context = 2048, .tied = true});
    const bool renewed = r.config.flag({"new_decoder_architecture"}, false);
    const bool multi_query = r.config.flag({"multi_query"}, true);
    if (!renewed) t.kv_heads = multi_query ? 1 : t.heads;
    const bool bias = r.config.flag({"bias"}, false);
    const bool parallel = r.config.flag({"parallel_attn"}, true);
    const auto norms = r.config.count_or({"num_ln_in_parallel_attn"}, renewed ? 2 : 1, 1);
    SoftmaxAttention a = grouped_attention(t);
    set_bias(a, bias, bias);
    r.model.norm = NormKind::layer;
    const DenseFeedForward f{
        .intermediate = read_intermediate(r, 4 * r.model.hidden), .gated = false, .bias = bias};
    add_layers(
        r.model, t.layers,
        {.name = "layer", .mixer = a, .feed_forward = f, .norms = parallel ? static_cast<int>(norms) : 2});
}

void phi(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    set_bias(a, true, true);
    if (r.config.flag({"qk_layernorm"}, false))
        r.config.fault("qk_layernorm", "norms of queries and keys in phi are not understood");
    r.model.norm = NormKind::layer;
    r.model.head_bias = true;
    const DenseFeedForward f{
        .intermediate = read_intermediate(r, 4 * r.model.hidden), .gated = false, .bias = true};
    add_layers(r.model, t.layers, {.name = "layer", .mixer = a, .feed_forward = f, .norms = 1});
}

void chatglm(HfReading& r) {
    HfTrunk t = read_trunk(r);
    const auto groups = r.config.count_or({"multi_query_group_num"}, 1, 1);
    if (r.config.flag({"multi_query_attention"}, false)) t.kv_heads = static_cast<int>(groups);
    const bool bias = r.config.flag({"add_bias_linear"}, false);
    SoftmaxAttention a = grouped_attention(t);
    set_bias(a, bias || r.config.flag({"add_qkv_bias"}, false), bias);
    r.model.norm = r.config.flag({"rmsnorm"}, true) ? NormKind::rms : NormKind::layer;
    r.model.final_norm = r.config.flag({"post_layer_norm"}, true);
    const DenseFeedForward f{.intermediate = read_intermediate(r), .bias = bias};
    add_layers(r.model, t.layers, {.name = "layer", .mixer = a, .feed_forward = f});
}

constexpr std::array kFamilies{
    HfFamily{"gpt2", gpt2}, HfFamily{"gptj", gptj},    HfFamily{"gpt_neox", gpt_neox},
    HfFamily{"opt", opt},   HfFamily{"mpt", mpt},      HfFamily{"falcon", falcon},
    HfFamily{"phi", phi},   HfFamily{"phi-msft", phi}, HfFamily{"chatglm", chatglm},
};

}  // namespace

std::span<const HfFamily> hf_early_families() { return kFamilies; }

}  // namespace headroom
