// SPDX-License-Identifier: Apache-2.0
// Layouts that mix attention with state-space, linear-attention and convolution layers.
#include "io/hf_family.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace headroom {
namespace {

ElementType state_type(HfReading& r) {
    const std::string type = r.config.text({"mamba_ssm_dtype", "mamba_ssm_cache_dtype"}, "");
    return type == "float32" ? ElementType::fp32 : r.model.activation;
}

// Qwen3-Next and Qwen3.5: gated delta rule, every fourth layer gated attention.
struct QwenHybrid {
    SoftmaxAttention full;
    LinearAttention linear;
    std::vector<std::string> types;
};

QwenHybrid read_qwen_hybrid(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    QwenHybrid q;
    q.full = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(q.full, bias, bias);
    q.full.qk_norm = QkNorm::head;
    if (r.config.flag({"attn_output_gate"}, true)) q.full.gate = OutputGate::element;
    LinearAttention& l = q.linear;
    l.key_heads = static_cast<int>(r.config.count({"linear_num_key_heads"}));
    l.value_heads = static_cast<int>(r.config.count({"linear_num_value_heads"}));
    l.key_dim = static_cast<int>(r.config.count({"linear_key_head_dim"}));
    l.value_dim = static_cast<int>(r.config.count({"linear_value_head_dim"}));
    l.conv = static_cast<int>(r.config.count({"linear_conv_kernel_dim"}));
    l.state_type = state_type(r);
    const auto every = r.config.count_or({"full_attention_interval"}, 4, 1);
    q.types = read_layer_types(
        r, t.layers, [&](int i) { return (i + 1) % every == 0 ? "full_attention" : "linear_attention"; });
    return q;
}

void add_qwen_hybrid(HfReading& r, const QwenHybrid& q, const FeedForward& feed_forward) {
    for (const std::string& type : q.types) {
        Layer layer{.name = type == "full_attention" ? "full" : "linear",
                    .mixer = q.linear,
                    .feed_forward = feed_forward};
        if (type == "full_attention")
            layer.mixer = q.full;
        else if (type != "linear_attention")
            r.config.fault("layer_types", fmt::format("\"{}\" is not understood", type));
        add_layer(r.model, layer);
    }
    add_prediction(r, r.config.count_or({"mtp_num_hidden_layers"}, 0),
                   {.name = "prediction", .mixer = q.full, .feed_forward = feed_forward}, 3);
}

void qwen3_next(HfReading& r) {
    const QwenHybrid q = read_qwen_hybrid(r);
    const MixtureOfExperts moe = read_qwen_experts(r);
    const auto dense = r.config.maybe_counts({"mlp_only_layers"}).value_or(std::vector<std::int64_t>{});
    if (!dense.empty() || r.config.count_or({"decoder_sparse_step"}, 1) != 1)
        r.config.fault("mlp_only_layers", "dense layers are not understood for this model type");
    r.config.ignore("intermediate_size");
    add_qwen_hybrid(r, q, moe);
}

void qwen3_5(HfReading& r) {
    const QwenHybrid q = read_qwen_hybrid(r);
    r.config.maybe_counts({"mlp_only_layers"});
    add_qwen_hybrid(r, q, DenseFeedForward{.intermediate = read_intermediate(r)});
}

// Nemotron-H: every layer is one thing, by a pattern of letters or a list of names. Some files give no layer
// count.
std::vector<std::string> nemotron_types(HfReading& r) {
    auto types = r.config.maybe_texts({"layers_block_type"}).value_or(std::vector<std::string>{});
    if (types.empty()) {
        for (const char letter : r.config.text({"hybrid_override_pattern"}, "")) {
            types.emplace_back(letter == 'M'   ? "mamba"
                               : letter == 'E' ? "moe"
                               : letter == '*' ? "attention"
                               : letter == '-' ? "mlp"
                                               : std::string(1, letter));
        }
    }
    if (types.empty()) r.config.fault("layers_block_type", "missing, and hybrid_override_pattern too");
    const auto count = r.config.maybe_count({"num_hidden_layers"});
    if (count && *count != static_cast<std::int64_t>(types.size()))
        r.config.consequence("num_hidden_layers",
                             fmt::format("{} layers, but the pattern has {}", *count, types.size()));
    return types;
}

StateSpace nemotron_mamba(HfReading& r) {
    StateSpace s;
    s.heads = static_cast<int>(r.config.count({"mamba_num_heads"}));
    s.inner = product(r, "mamba_num_heads", s.heads, r.config.count({"mamba_head_dim"}));
    s.state = static_cast<int>(r.config.count({"ssm_state_size"}));
    s.conv = static_cast<int>(r.config.count({"conv_kernel"}));
    s.groups = static_cast<int>(r.config.count({"n_groups"}));
    s.conv_bias = r.config.flag({"use_conv_bias"}, true);
    s.bias = r.config.flag({"mamba_proj_bias", "use_bias"}, false);
    s.state_type = state_type(r);
    // The width is heads x head size; `expand` and the rank of Mamba-1 do not count.
    for (const auto* key :
         {"expand", "chunk_size", "time_step_rank", "use_mamba_kernels", "mamba_hidden_act"})
        r.config.ignore(key);
    return s;
}

void nemotron_h(HfReading& r) {
    const auto types = nemotron_types(r);
    const HfTrunk t = read_trunk(r, {.layers = static_cast<std::int64_t>(types.size())});
    const StateSpace mamba = nemotron_mamba(r);
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a, bias, bias);
    const DenseFeedForward dense{
        .intermediate = read_intermediate(r), .gated = false, .bias = r.config.flag({"mlp_bias"}, false)};
    MixtureOfExperts moe;
    if (std::find(types.begin(), types.end(), "moe") != types.end()) {
        moe = read_experts(r, {.router_bias = true, .gated = false});
        moe.shared_intermediate =
            r.config.count_or({"moe_shared_expert_intermediate_size"}, moe.shared_intermediate);
        moe.latent = r.config.count_or({"moe_latent_size"}, 0);
    }
    for (const std::string& type : types) {
        Layer layer{.name = type, .mixer = NoMixer{}, .norms = 1};
        if (type == "mamba")
            layer.mixer = mamba;
        else if (type == "attention")
            layer.mixer = a;
        else if (type == "moe")
            layer.feed_forward = moe;
        else if (type == "mlp")
            layer.feed_forward = dense;
        else
            r.config.fault("layers_block_type",
                           fmt::format("\"{}\" is no kind of layer that is understood", type));
        add_layer(r.model, layer);
    }
    // Prediction is an attention and an expert layer together.
    r.config.ignore("mtp_hybrid_override_pattern");
    r.config.ignore("mtp_layers_block_type");
    add_prediction(r, r.config.count_or({"num_nextn_predict_layers"}, 0),
                   {.name = "prediction", .mixer = a, .feed_forward = moe}, 3);
}

void jamba(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    const SoftmaxAttention a = grouped_attention(t);
    StateSpace s{.version = 1};
    s.inner = product(r, "mamba_expand", r.config.count_or({"mamba_expand"}, 2, 1), r.model.hidden);
    s.state = static_cast<int>(r.config.count_or({"mamba_d_state"}, 16));
    s.conv = static_cast<int>(r.config.count_or({"mamba_d_conv"}, 4));
    s.dt_rank = static_cast<int>(r.config.count_or({"mamba_dt_rank"}, (r.model.hidden + 15) / 16));
    s.conv_bias = r.config.flag({"mamba_conv_bias"}, true);
    s.bias = r.config.flag({"mamba_proj_bias"}, false);
    s.inner_norms = true;
    s.state_type = state_type(r);
    const std::int64_t width = read_intermediate(r);
    const MixtureOfExperts moe = read_experts(r, {.intermediate = width});
    const auto attention_every = r.config.count_or({"attn_layer_period"}, 8, 1),
               attention_at = r.config.count_or({"attn_layer_offset"}, 4);
    const auto experts_every = r.config.count_or({"expert_layer_period"}, 2, 1),
               experts_at = r.config.count_or({"expert_layer_offset"}, 1);
    for (int i = 0; i < t.layers; ++i) {
        const bool attends = i % attention_every == attention_at, sparse = i % experts_every == experts_at;
        Layer layer{.name = attends ? "attention" : "mamba", .mixer = s};
        if (attends) layer.mixer = a;
        if (sparse)
            layer.feed_forward = moe;
        else
            layer.feed_forward = DenseFeedForward{.intermediate = width};
        if (sparse) layer.name += "-experts";
        add_layer(r.model, layer);
    }
}

// Granite 4 H: nine Mamba-2 layers to one of attention, experts and a shared part in all.
void granite_hybrid(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a, bias, bias);
    StateSpace s;
    s.inner = product(r, "mamba_expand", r.config.count_or({"mamba_expand"}, 2, 1), r.model.hidden);
    s.state = static_cast<int>(r.config.count_or({"mamba_d_state"}, 256));
    s.conv = static_cast<int>(r.config.count_or({"mamba_d_conv"}, 4));
    s.heads = static_cast<int>(r.config.count_or({"mamba_n_heads"}, 128));
    s.groups = static_cast<int>(r.config.count_or({"mamba_n_groups"}, 1));
    s.conv_bias = r.config.flag({"mamba_conv_bias"}, true);
    s.bias = r.config.flag({"mamba_proj_bias"}, false);
    s.state_type = state_type(r);
    for (const auto* key : {"mamba_d_head", "mamba_chunk_size"}) r.config.ignore(key);
    FeedForward feed_forward;
    const std::int64_t shared = r.config.count_or({"shared_intermediate_size"}, 0);
    if (r.config.count_or({"num_local_experts"}, 0) > 0) {
        MixtureOfExperts moe = read_experts(r, {.intermediate = read_intermediate(r)});
        moe.shared_intermediate = shared;
        feed_forward = moe;
    } else {
        feed_forward = DenseFeedForward{.intermediate = shared > 0 ? shared : read_intermediate(r)};
        r.config.ignore("intermediate_size");
    }
    if (!r.config.has("layer_types") && !r.config.has("layers_block_type"))
        r.notes.emplace_back(
            "layer_types is missing: every tenth layer is taken to attend, as in the Granite 4 H models");
    const auto types =
        read_layer_types(r, t.layers, [](int i) { return i % 10 == 5 ? "attention" : "mamba"; });
    for (const std::string& type : types) {
        Layer layer{.name = type, .mixer = s, .feed_forward = feed_forward};
        if (type == "attention") layer.mixer = a;
        add_layer(r.model, layer);
    }
}

// MiniMax-Text-01: seven layers of lightning attention to one of softmax attention.
void minimax_text(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    const SoftmaxAttention a = grouped_attention(t);
    const LinearAttention lightning{.kind = LinearKind::lightning,
                                    .key_heads = t.heads,
                                    .value_heads = t.heads,
                                    .key_dim = t.head_dim,
                                    .value_dim = t.head_dim};
    MixtureOfExperts moe = read_experts(r, {.intermediate = read_intermediate(r)});
    moe.shared_intermediate = r.config.count_or({"shared_intermediate_size"}, 0);
    const auto types =
        r.config.maybe_counts({"attn_type_list", "layer_types"}).value_or(std::vector<std::int64_t>{});
    if (types.size() != static_cast<std::size_t>(t.layers)) {
        give_up(r, "attn_type_list", fmt::format("{} entries for {} layers", types.size(), t.layers));
        return;
    }
    for (const auto* key : {"layernorm_full_attention_alpha", "layernorm_full_attention_beta",
                            "layernorm_linear_attention_alpha", "layernorm_linear_attention_beta",
                            "layernorm_mlp_alpha", "layernorm_mlp_beta", "postnorm"})
        r.config.ignore(key);
    for (const std::int64_t type : types) {
        Layer layer{.name = type == 1 ? "full" : "linear", .mixer = lightning, .feed_forward = moe};
        if (type == 1) layer.mixer = a;
        add_layer(r.model, layer);
    }
}

// Griffin: two recurrent layers to one of local attention; the feed-forward width is half of what is given.
void recurrent_gemma(HfReading& r) {
    const HfTrunk t = read_trunk(r, {.max_context = 8192, .tied = true});
    SoftmaxAttention a = grouped_attention(t);
    set_bias(a, r.config.flag({"attention_bias"}, false), true);
    a.window = useful_window(r.model, r.config.count_or({"attention_window_size"}, 2048));
    LinearAttention lru{.kind = LinearKind::gated_recurrence};
    const auto width = r.config.count_or({"lru_width"}, r.model.hidden);
    lru.value_heads = t.heads;
    lru.value_dim = static_cast<int>(width / t.heads);
    lru.conv = static_cast<int>(r.config.count_or({"conv1d_width"}, 4));
    const DenseFeedForward f{.intermediate = read_intermediate(r) / 2, .bias = true};
    auto blocks = r.config.maybe_texts({"_block_types", "block_types"}).value_or(std::vector<std::string>{});
    if (blocks.empty()) blocks = {"recurrent", "recurrent", "attention"};
    for (int i = 0; i < t.layers; ++i) {
        const std::string& type = blocks[static_cast<std::size_t>(i) % blocks.size()];
        Layer layer{.name = type == "attention" ? "local" : "recurrent", .mixer = lru, .feed_forward = f};
        if (type == "attention") layer.mixer = a;
        add_layer(r.model, layer);
    }
}

// LFM2: short convolutions and a few layers of attention. Its feed-forward width is two thirds of what is
// given, rounded up, unless switched off.
void lfm2(HfReading& r) {
    const HfTrunk t = read_trunk(r, {.tied = true});
    SoftmaxAttention a = grouped_attention(t);
    a.qk_norm = QkNorm::head;
    r.config.maybe_count({"num_heads"});
    const auto width = r.config.count_or({"conv_dim"}, r.model.hidden);
    LinearAttention conv{.kind = LinearKind::short_convolution};
    conv.value_heads = t.heads;
    conv.value_dim = static_cast<int>(width / t.heads);
    conv.conv = static_cast<int>(r.config.count({"conv_L_cache"}));
    if (r.config.flag({"conv_bias"}, false))
        r.config.fault("conv_bias", "biases of the convolution are not understood");
    std::int64_t inner = r.config.count({"block_ff_dim", "intermediate_size"});
    if (r.config.flag({"block_auto_adjust_ff_dim"}, true)) {
        double factor = r.config.maybe_number({"block_ffn_dim_multiplier"}).value_or(1.0);
        if (!(factor > 0 && factor <= 1000)) {
            r.config.fault("block_ffn_dim_multiplier",
                           fmt::format("{} is out of range; above 0 to 1000", factor));
            factor = 1;
        }
        const auto unit = r.config.count_or({"block_multiple_of"}, 256, 1);
        const std::int64_t two_thirds = 2 * inner / 3;
        inner = static_cast<std::int64_t>(factor * static_cast<double>(two_thirds));
        inner = (inner + unit - 1) / unit * unit;
    }
    for (const auto* key :
         {"block_dim", "conv_dim_out", "conv_use_xavier_init", "block_use_swiglu", "block_use_xavier_init",
          "block_mlp_init_scale", "block_out_init_scale", "block_norm_eps"})
        r.config.ignore(key);
    const auto types = read_layer_types(r, t.layers, [](int) { return "full_attention"; });
    for (const std::string& type : types) {
        Layer layer{.name = type == "conv" ? "conv" : "full",
                    .mixer = conv,
                    .feed_forward = DenseFeedForward{.intermediate = inner}};
        if (type != "conv") layer.mixer = a;
        add_layer(r.model, layer);
    }
}

constexpr std::array kFamilies{
    HfFamily{"qwen3_next", qwen3_next},
    HfFamily{"qwen3_5_moe_text", qwen3_next},
    HfFamily{"qwen3_5_text", qwen3_5},
    HfFamily{"nemotron_h", nemotron_h},
    HfFamily{"jamba", jamba},
    HfFamily{"granitemoehybrid", granite_hybrid},
    HfFamily{"minimax_text_01", minimax_text},
    HfFamily{"recurrent_gemma", recurrent_gemma},
    HfFamily{"lfm2", lfm2},
};

}  // namespace

std::span<const HfFamily> hf_hybrid_families() { return kFamilies; }

}  // namespace headroom
