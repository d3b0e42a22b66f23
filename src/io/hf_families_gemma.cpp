// SPDX-License-Identifier: Apache-2.0
// Gemma 3n and 4: per-layer embeddings, caches shared between layers, wider global heads.
#include "io/hf_family.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace headroom {
namespace {

// A second, narrow embedding for every layer, gated into it. Engines cut the table by vocabulary and the
// projection by its outputs; the gates of a layer are on every GPU (vLLM, gemma3n.py).
void add_per_layer_embedding(Model& m, std::int64_t vocabulary, std::int64_t width, int layers) {
    m.extras.push_back(
        {"per_layer_embedding", vocabulary, layers * width, Role::embedding, false, Cut::rows});
    m.extras.push_back({"per_layer_projection", layers * width, m.hidden, Role::ffn, true, Cut::rows});
    m.extras.push_back({"per_layer_projection_norm", width, 1, Role::norm, false});
}

void add_per_layer_input(Layer& layer, std::int64_t hidden, std::int64_t width) {
    layer.extras.push_back({"per_layer_input_gate", width, hidden, Role::ffn, true});
    layer.extras.push_back({"per_layer_input_projection", hidden, width, Role::ffn, true});
    layer.extras.push_back({"per_layer_input_norm", hidden, 1, Role::norm, false});
}

// One width, or one for each layer.
std::vector<std::int64_t> read_widths(HfReading& r, int layers) {
    const auto count = static_cast<std::size_t>(layers);
    const JsonValue* given = r.config.raw("intermediate_size");
    if (given == nullptr || given->kind != JsonValue::Kind::list)
        return std::vector<std::int64_t>(count, read_intermediate(r));
    auto widths = r.config.maybe_counts({"intermediate_size"}).value_or(std::vector<std::int64_t>{});
    const bool positive = std::all_of(widths.begin(), widths.end(), [](std::int64_t w) { return w > 0; });
    if (widths.size() != count || !positive)
        r.config.consequence("intermediate_size",
                             fmt::format("{} layers need as many widths above 0", layers));
    widths.resize(count, 1);
    return widths;
}

void gemma3n(HfReading& r) {
    const HfTrunk t = read_trunk(r, {.tied = true});
    Model& m = r.model;
    const std::int64_t h = m.hidden;
    SoftmaxAttention a = grouped_attention(t);
    a.qk_norm = QkNorm::head;
    const auto window = r.config.count_or({"sliding_window"}, 512);
    const auto inputs = r.config.count_or({"altup_num_inputs"}, 4, 1);
    // Engines compute the sparse activations densely; the others change no size.
    for (const auto* key : {"activation_sparsity_pattern", "altup_active_idx", "altup_coef_clip",
                            "altup_correct_scale", "altup_lr_multiplier"})
        r.config.ignore(key);
    const auto rank = r.config.count_or({"laurel_rank"}, 64);
    const auto width = r.config.count_or({"hidden_size_per_layer_input"}, 256);
    const auto sharing = r.config.count_or({"num_kv_shared_layers"}, 0);
    add_per_layer_embedding(m, r.config.count_or({"vocab_size_per_layer_input"}, 262144), width, t.layers);
    m.extras.push_back({"altup_projections", 2 * (inputs - 1) * h, h, Role::ffn, true, Cut::rows});
    const auto types = read_layer_types(
        r, t.layers, [](int i) { return (i + 1) % 5 == 0 ? "full_attention" : "sliding_attention"; });
    const auto widths = read_widths(r, t.layers);
    for (int i = 0; i < t.layers; ++i) {
        const bool local = types[static_cast<std::size_t>(i)] == "sliding_attention";
        a.window = local ? useful_window(m, window) : 0;
        a.shares_kv = i >= t.layers - sharing;
        Layer layer{.name = local ? "local" : "global",
                    .mixer = a,
                    .feed_forward = DenseFeedForward{.intermediate = widths[static_cast<std::size_t>(i)]},
                    .norms = 4};
        if (a.shares_kv) {
            layer.name += "-sharing";
            // Published with keys, values and their norm, which are not used.
            layer.extras.push_back({"unused k_proj, v_proj", 2 * std::int64_t{a.kv_heads} * a.head_dim, h,
                                    Role::attention, false, Cut::rows});
            layer.extras.push_back({"unused k_norm", a.head_dim, 1, Role::norm, false});
        }
        layer.extras.push_back({"laurel_left", rank, h, Role::ffn, true, Cut::rows});
        layer.extras.push_back({"laurel_right", h, rank, Role::ffn, true, Cut::columns});
        layer.extras.push_back({"laurel_norm", h, 1, Role::norm, false});
        layer.extras.push_back({"altup_router", inputs, h, Role::router, true});
        layer.extras.push_back({"altup_scale, altup_router_norm", 2, h, Role::norm, false});
        layer.extras.push_back({"altup_coefficients", inputs + inputs * inputs, inputs, Role::norm, false});
        add_per_layer_input(layer, h, width);
        add_layer(m, layer);
    }
}

// Global layers have heads of another width and, with attention_k_eq_v, fewer key-value heads whose keys
// serve as values.
struct Gemma4Attention {
    SoftmaxAttention local;
    SoftmaxAttention global;
};

Gemma4Attention read_gemma4_attention(HfReading& r, const HfTrunk& t) {
    Gemma4Attention a{grouped_attention(t), grouped_attention(t)};
    a.local.qk_norm = a.global.qk_norm = QkNorm::head;
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a.local, bias, bias);
    set_bias(a.global, bias, bias);
    a.local.window = useful_window(r.model, r.config.count_or({"sliding_window"}, 512));
    a.global.head_dim = a.global.value_dim =
        static_cast<int>(r.config.count_or({"global_head_dim"}, t.head_dim, 1));
    a.global.value_is_key = r.config.flag({"attention_k_eq_v"}, false);
    const auto global_heads = r.config.count_or({"num_global_key_value_heads"}, t.kv_heads, 1);
    if (a.global.value_is_key) a.global.kv_heads = static_cast<int>(global_heads);
    return a;
}

void gemma4(HfReading& r) {
    const HfTrunk t = read_trunk(r, {.max_context = 131072, .tied = true});
    Model& m = r.model;
    const Gemma4Attention kinds = read_gemma4_attention(r, t);
    const auto width = r.config.count_or({"hidden_size_per_layer_input"}, 256);
    const auto tables = r.config.count_or({"vocab_size_per_layer_input"}, 262144);
    if (width > 0) add_per_layer_embedding(m, tables, width, t.layers);
    const auto sharing = r.config.count_or({"num_kv_shared_layers"}, 0);
    const bool doubled = r.config.flag({"use_double_wide_mlp"}, false);
    const std::int64_t inner = read_intermediate(r);
    FeedForward feed_forward = DenseFeedForward{.intermediate = inner};
    const bool sparse = r.config.flag({"enable_moe_block"}, false);
    if (sparse) {
        MixtureOfExperts moe = read_experts(r, {});
        moe.shared_intermediate = inner;  // the dense part runs beside the experts
        feed_forward = moe;
    }
    for (const auto* key :
         {"num_experts", "top_k_experts", "moe_intermediate_size", "expert_intermediate_size"}) {
        if (!sparse) r.config.ignore(key);
    }
    r.config.ignore("use_bidirectional_attention");
    const auto types = read_layer_types(
        r, t.layers, [](int i) { return (i + 1) % 6 == 0 ? "full_attention" : "sliding_attention"; });
    for (int i = 0; i < t.layers; ++i) {
        const bool local = types[static_cast<std::size_t>(i)] == "sliding_attention";
        SoftmaxAttention a = local ? kinds.local : kinds.global;
        a.shares_kv = i >= t.layers - sharing;
        Layer layer{.name = local ? "local" : "global",
                    .mixer = a,
                    .feed_forward = feed_forward,
                    .norms = sparse ? 7 : 4};
        if (a.shares_kv) layer.name += "-sharing";
        if (a.shares_kv && doubled) layer.feed_forward = DenseFeedForward{.intermediate = 2 * inner};
        if (sparse) {
            const auto experts = std::get<MixtureOfExperts>(feed_forward).experts;
            layer.extras.push_back({"router_scale", m.hidden + experts, 1, Role::norm, false});
        }
        if (width > 0) add_per_layer_input(layer, m.hidden, width);
        layer.extras.push_back({"layer_scalar", 1, 1, Role::norm, false});
        add_layer(m, layer);
    }
}

constexpr std::array kFamilies{HfFamily{"gemma3n_text", gemma3n}, HfFamily{"gemma4_text", gemma4}};

}  // namespace

std::span<const HfFamily> hf_gemma_families() { return kFamilies; }

}  // namespace headroom
