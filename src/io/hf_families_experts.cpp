// SPDX-License-Identifier: Apache-2.0
// Decoders with mixtures of experts and attention of the usual kinds.
#include "io/hf_family.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace headroom {

MixtureOfExperts read_experts(HfReading& r, const HfExperts& keys) {
    MixtureOfExperts moe;
    moe.experts = moe.local_experts =
        static_cast<int>(r.config.count({"n_routed_experts", "num_experts", "num_local_experts"}));
    moe.top_k = static_cast<int>(r.config.count(
        {"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts", "moe_topk"}));
    moe.intermediate = keys.intermediate > 0 ? keys.intermediate : r.config.count({"moe_intermediate_size"});
    const auto shared = r.config.count_or({"n_shared_experts", "num_shared_experts", "num_shared_expert"}, 0);
    moe.shared_intermediate = shared * moe.intermediate;
    moe.router_bias = keys.router_bias;
    moe.gated = moe.shared_gated = keys.gated;
    if (moe.experts > 100'000) r.config.fault("num_experts", "more experts than any model has");
    if (moe.top_k > moe.experts)
        r.config.consequence("num_experts_per_tok", fmt::format("{} of {} experts", moe.top_k, moe.experts));
    // How the choice is grouped and scaled changes no size.
    for (const auto* key : {"n_group", "topk_group", "num_expert_group", "moe_layer_freq"})
        if (r.config.raw(key) != nullptr) continue;
    for (const auto* key :
         {"scoring_func", "topk_method", "use_grouped_topk", "moe_router_activation_func", "moe_renormalize",
          "norm_topk_prob", "seq_aux", "ep_size", "routed_scaling_factor"})
        r.config.ignore(key);
    return moe;
}

MixtureOfExperts read_qwen_experts(HfReading& r) {
    MixtureOfExperts moe = read_experts(r, {});
    if (const auto shared = r.config.maybe_count({"shared_expert_intermediate_size"});
        shared && *shared > 0) {
        moe.shared_intermediate = *shared;
        moe.shared_gate = true;
    }
    return moe;
}

int dense_layers_first(HfReading& r, int layers) {
    const auto first = r.config.count_or({"first_k_dense_replace"}, 0);
    return static_cast<int>(std::min<std::int64_t>(first, layers));
}

void add_prediction(HfReading& r, std::int64_t count, const Layer& layer, int extra_norms) {
    if (count == 0) return;
    Model& m = r.model;
    const auto same = std::find_if(m.kinds.begin(), m.kinds.end(), [&](const Layer& kind) {
        Layer renamed = layer;
        renamed.name = kind.name;
        return renamed == kind;
    });
    m.prediction.count = static_cast<int>(count);
    m.prediction.kind = static_cast<int>(same - m.kinds.begin());
    if (same == m.kinds.end()) m.kinds.push_back(layer);
    m.prediction.extras = {{"input_projection", m.hidden, 2 * m.hidden, Role::ffn, true},
                           {"norms", extra_norms, m.hidden, Role::norm, false}};
}

namespace {

void mixtral(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    a.window = useful_window(r.model, r.config.count_or({"sliding_window"}, 0));
    const MixtureOfExperts moe = read_experts(r, {.intermediate = read_intermediate(r)});
    add_layers(r.model, t.layers, {.name = "layer", .mixer = a, .feed_forward = moe});
}

// Dense where listed in mlp_only_layers or between the steps of decoder_sparse_step.
void qwen_moe(HfReading& r, bool qkv_bias, QkNorm norm) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a, qkv_bias || bias, bias);
    a.qk_norm = norm;
    if (r.config.flag({"use_sliding_window"}, false))
        r.config.fault("use_sliding_window", "windows are not understood for this model type");
    for (const auto* key : {"sliding_window", "max_window_layers"}) r.config.ignore(key);
    const MixtureOfExperts moe = read_qwen_experts(r);
    const auto dense = r.config.maybe_counts({"mlp_only_layers"}).value_or(std::vector<std::int64_t>{});
    const auto step = r.config.count_or({"decoder_sparse_step"}, 1, 1);
    const std::int64_t width = r.config.count_or({"intermediate_size"}, 0);
    for (int i = 0; i < t.layers; ++i) {
        const bool sparse = (i + 1) % step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
        Layer layer{.name = sparse ? "experts" : "dense", .mixer = a};
        if (sparse)
            layer.feed_forward = moe;
        else
            layer.feed_forward = DenseFeedForward{.intermediate = width};
        add_layer(r.model, layer);
    }
}

void qwen2_moe(HfReading& r) { qwen_moe(r, true, QkNorm::none); }
void qwen3_moe(HfReading& r) {
    qwen_moe(r, false, r.config.flag({"use_qk_norm"}, true) ? QkNorm::head : QkNorm::none);
}

// Dense layers first, then experts beside shared ones.
void add_dense_then_experts(HfReading& r, int layers, const Mixer& mixer, const MixtureOfExperts& moe) {
    const int dense = dense_layers_first(r, layers);
    add_layers(r.model, dense,
               {.name = "dense",
                .mixer = mixer,
                .feed_forward = DenseFeedForward{.intermediate = read_intermediate(r)}});
    add_layers(r.model, layers - dense, {.name = "experts", .mixer = mixer, .feed_forward = moe});
}

void deepseek(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a, bias, bias);
    add_dense_then_experts(r, t.layers, a, read_experts(r, {}));
}

void glm4_moe(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    set_bias(a, r.config.flag({"attention_bias"}, false), false);
    if (r.config.flag({"use_qk_norm"}, false)) a.qk_norm = QkNorm::head;
    const MixtureOfExperts moe = read_experts(r, {.router_bias = true});
    add_dense_then_experts(r, t.layers, a, moe);
    add_prediction(r, r.config.count_or({"num_nextn_predict_layers"}, 0),
                   {.name = "experts", .mixer = a, .feed_forward = moe}, 3);
}

void minimax_m2(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    if (r.config.flag({"use_qk_norm"}, false)) {
        a.qk_norm =
            r.config.text({"qk_norm_type"}, "per_layer") == "per_layer" ? QkNorm::projection : QkNorm::head;
    }
    const bool bias = r.config.flag({"use_routing_bias"}, false);
    const MixtureOfExperts moe = read_experts(r, {.intermediate = read_intermediate(r), .router_bias = bias});
    const auto types = r.config.maybe_counts({"attn_type_list"}).value_or(std::vector<std::int64_t>{});
    if (std::any_of(types.begin(), types.end(), [](std::int64_t type) { return type != 1; }))
        r.config.fault("attn_type_list", "only full attention (1) is understood for this model type");
    const Layer layer{.name = "layer", .mixer = a, .feed_forward = moe};
    add_layers(r.model, t.layers, layer);
    const auto modules =
        r.config.count_or({"num_mtp_modules"}, 0) * r.config.count_or({"mtp_transformer_layers"}, 1);
    if (r.config.flag({"use_mtp"}, false)) add_prediction(r, modules, layer, 3);
}

// An indexer without weights of its heads picks whole blocks; its keys are cached at 16 bits, once for all
// heads.
void minimax_m3(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention dense = grouped_attention(t);
    if (r.config.flag({"use_qk_norm"}, false)) {
        dense.qk_norm =
            r.config.text({"qk_norm_type"}, "per_head") == "per_head" ? QkNorm::head : QkNorm::projection;
    }
    if (r.config.flag({"attention_output_gate"}, false)) dense.gate = OutputGate::element;
    SoftmaxAttention sparse = dense;
    std::vector<std::int64_t> sparse_layers(static_cast<std::size_t>(t.layers), 0);
    if (auto s = r.config.map("sparse_attention_config"); s && s->flag({"use_sparse_attention"}, true)) {
        Indexer indexer;
        indexer.heads = static_cast<int>(s->count({"sparse_num_index_heads"}));
        indexer.dim = static_cast<int>(s->count({"sparse_index_dim"}));
        indexer.top_k = product(r, "sparse_attention_config", s->count({"sparse_topk_blocks"}),
                                s->count({"sparse_block_size"}));
        indexer.key_bits = 16;
        indexer.weights = false;
        sparse.indexer = indexer;
        sparse_layers = s->maybe_counts({"sparse_attention_freq"}).value_or(sparse_layers);
        for (const auto* key :
             {"sparse_disable_index_value", "sparse_score_type", "sparse_init_block", "sparse_local_block"})
            s->ignore(key);
    }
    MixtureOfExperts moe = read_experts(
        r, {.intermediate = read_intermediate(r), .router_bias = r.config.flag({"use_routing_bias"}, false)});
    moe.shared_intermediate = r.config.count_or({"shared_intermediate_size"}, moe.shared_intermediate);
    r.config.ignore("moe_intermediate_size");
    const auto moe_layers = r.config.maybe_counts({"moe_layer_freq"}).value_or(std::vector<std::int64_t>{});
    const DenseFeedForward wide{.intermediate = r.config.count({"dense_intermediate_size"})};
    r.config.ignore("first_k_dense_replace");
    if (moe_layers.size() != static_cast<std::size_t>(t.layers) ||
        sparse_layers.size() != moe_layers.size()) {
        give_up(r, "moe_layer_freq", "one entry for each layer is needed, in sparse_attention_freq too");
        return;
    }
    for (std::size_t i = 0; i < moe_layers.size(); ++i) {
        Layer layer{.name = moe_layers[i] != 0 ? "experts" : "dense",
                    .mixer = sparse_layers[i] != 0 ? sparse : dense};
        if (moe_layers[i] != 0)
            layer.feed_forward = moe;
        else
            layer.feed_forward = wide;
        add_layer(r.model, layer);
    }
    const auto modules = r.config.count_or({"num_mtp_modules"}, 0);
    add_prediction(r, r.config.count_or({"num_nextn_predict_layers"}, modules),
                   {.name = "prediction", .mixer = dense, .feed_forward = moe}, 3);
}

void gpt_oss(HfReading& r) {
    const HfTrunk t = read_trunk(r, {.max_context = 131072});
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, true);
    set_bias(a, bias, bias);
    a.sinks = true;
    MixtureOfExperts moe = read_experts(r, {.intermediate = read_intermediate(r), .router_bias = true});
    moe.expert_bias = true;
    const auto window = r.config.count_or({"sliding_window"}, 128);
    const auto types = read_layer_types(
        r, t.layers, [](int i) { return i % 2 == 0 ? "sliding_attention" : "full_attention"; });
    add_windowed_layers(r, types, window, a, moe);
}

// Every fourth layer sees everything and has no rotary positions; the others attend in chunks. Norms on
// queries and keys have no weights.
void llama4(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a, bias, bias);
    r.config.flag({"use_qk_norm"}, true);
    MixtureOfExperts moe = read_experts(r, {.intermediate = read_intermediate(r)});
    moe.shared_intermediate = moe.intermediate;
    const DenseFeedForward dense{.intermediate =
                                     r.config.count_or({"intermediate_size_mlp"}, moe.intermediate)};
    const auto chunk = r.config.count_or({"attention_chunk_size"}, 8192);
    const auto step = r.config.count_or({"interleave_moe_layer_step"}, 1, 1);
    const auto every = r.config.count_or({"no_rope_layer_interval"}, 4, 1);
    const auto rope = r.config.maybe_counts({"no_rope_layers"}).value_or(std::vector<std::int64_t>{});
    if (!rope.empty() && rope.size() != static_cast<std::size_t>(t.layers))
        r.config.consequence("no_rope_layers",
                             fmt::format("{} entries for {} layers", rope.size(), t.layers));
    for (int i = 0; i < t.layers; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool local = at < rope.size() ? rope[at] != 0 : (i + 1) % every != 0;
        const bool sparse = (i + 1) % step == 0;
        a.chunk = local ? useful_window(r.model, chunk) : 0;
        Layer layer{.name = local ? "local" : "global", .mixer = a};
        if (sparse)
            layer.feed_forward = moe;
        else
            layer.feed_forward = dense;
        add_layer(r.model, layer);
    }
}

// With use_cla the layers share caches in groups of cla_share_factor; the first of a group stores.
void hunyuan(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    if (r.config.flag({"use_qk_norm"}, false)) a.qk_norm = QkNorm::head;
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a, bias, bias);
    const MixtureOfExperts moe = read_experts(r, {.intermediate = read_intermediate(r)});
    const auto factor = r.config.count_or({"cla_share_factor"}, 1, 1);
    const bool shared = r.config.flag({"use_cla"}, false);
    for (int i = 0; i < t.layers; ++i) {
        a.shares_kv = shared && i % factor != 0;
        add_layer(r.model, {.name = a.shares_kv ? "sharing" : "layer", .mixer = a, .feed_forward = moe});
    }
}

// Local layers have head counts of their own; attention sinks where the switches say so.
void mimo_v2(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention global = grouped_attention(t);
    global.value_dim = static_cast<int>(r.config.count_or({"v_head_dim"}, t.head_dim, 1));
    global.sinks = r.config.flag({"add_full_attention_sink_bias"}, false);
    SoftmaxAttention local = global;
    local.heads = static_cast<int>(r.config.count_or({"swa_num_attention_heads"}, t.heads, 1));
    local.kv_heads = static_cast<int>(r.config.count_or({"swa_num_key_value_heads"}, t.kv_heads, 1));
    local.head_dim = static_cast<int>(r.config.count_or({"swa_head_dim"}, t.head_dim, 1));
    local.value_dim = static_cast<int>(r.config.count_or({"swa_v_head_dim"}, global.value_dim, 1));
    local.sinks = r.config.flag({"add_swa_attention_sink_bias"}, false);
    local.window = useful_window(
        r.model, r.config.count({"sliding_window", "sliding_window_size", "attention_chunk_size"}));
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(global, bias, false);
    set_bias(local, bias, false);
    const auto pattern =
        r.config.maybe_counts({"hybrid_layer_pattern"}).value_or(std::vector<std::int64_t>{});
    const auto sparse = r.config.maybe_counts({"moe_layer_freq"}).value_or(std::vector<std::int64_t>{});
    if (pattern.size() != static_cast<std::size_t>(t.layers) || sparse.size() != pattern.size()) {
        give_up(r, "hybrid_layer_pattern", "one entry for each layer is needed, in moe_layer_freq too");
        return;
    }
    const MixtureOfExperts moe = read_experts(r, {.router_bias = true});
    const DenseFeedForward dense{.intermediate = read_intermediate(r)};
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        Layer layer{.name = pattern[i] != 0 ? "local" : "global", .mixer = pattern[i] != 0 ? local : global};
        if (sparse[i] != 0)
            layer.feed_forward = moe;
        else
            layer.feed_forward = dense;
        if (sparse[i] == 0) layer.name += "-dense";
        add_layer(r.model, layer);
    }
}

// Local layers have half as many heads again; each head's output is gated by a value of its own.
void step3(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention global = grouped_attention(t);
    global.qk_norm = QkNorm::head;
    global.gate = OutputGate::head;
    SoftmaxAttention local = global;
    local.window = useful_window(r.model, r.config.count({"sliding_window"}));
    if (auto other = r.config.map("attention_other_setting")) {
        local.heads = static_cast<int>(other->count_or({"num_attention_heads"}, local.heads, 1));
        local.kv_heads = static_cast<int>(other->count_or({"num_attention_groups"}, local.kv_heads, 1));
    } else {
        local.heads = product(r, "num_attention_heads", t.heads, 3) / 2;
        r.notes.emplace_back(
            "attention_other_setting is missing: local layers are taken to have 3/2 of the heads, as "
            "Step-3.5");
    }
    MixtureOfExperts moe = read_experts(r, {.router_bias = r.config.flag({"use_moe_router_bias"}, true)});
    moe.shared_intermediate = r.config.count_or({"share_expert_dim"}, moe.shared_intermediate);
    const int dense = dense_layers_first(r, t.layers);
    const auto types = read_layer_types(
        r, t.layers, [](int i) { return i % 4 == 0 ? "full_attention" : "sliding_attention"; });
    for (int i = 0; i < t.layers; ++i) {
        const bool is_local = types[static_cast<std::size_t>(i)] == "sliding_attention";
        Layer layer{
            .name = is_local ? "local" : "global", .mixer = is_local ? local : global, .feed_forward = moe};
        if (i < dense) {
            layer.feed_forward = DenseFeedForward{.intermediate = read_intermediate(r)};
            layer.name += "-dense";
        }
        add_layer(r.model, layer);
    }
    add_prediction(r, r.config.count_or({"num_nextn_predict_layers"}, 0),
                   {.name = "prediction",
                    .mixer = local,
                    .feed_forward = DenseFeedForward{.intermediate = read_intermediate(r)}},
                   3);
}

constexpr std::array kFamilies{
    HfFamily{"mixtral", mixtral},
    HfFamily{"qwen2_moe", qwen2_moe},
    HfFamily{"qwen3_moe", qwen3_moe},
    HfFamily{"qwen3_vl_moe_text", qwen3_moe},
    HfFamily{"deepseek", deepseek},
    HfFamily{"glm4_moe", glm4_moe},
    HfFamily{"glm4v_moe_text", glm4_moe},
    HfFamily{"minimax_m2", minimax_m2},
    HfFamily{"gpt_oss", gpt_oss},
    HfFamily{"minimax_m3", minimax_m3},
    HfFamily{"minimax_m3_vl", minimax_m3},
    HfFamily{"llama4_text", llama4},
    HfFamily{"hunyuan", hunyuan},
    HfFamily{"mimo_v2_flash", mimo_v2},
    HfFamily{"step3p5", step3},
    HfFamily{"step3p7", step3},
};

}  // namespace

std::span<const HfFamily> hf_expert_families() { return kFamilies; }

}  // namespace headroom
