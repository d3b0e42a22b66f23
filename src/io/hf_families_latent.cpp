// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention: DeepSeek-V2 to V3.2, Kimi, GLM-5, MiniCPM3, Kimi Linear.
#include "io/hf_family.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace headroom {

LatentAttention read_latent(HfReading& r, int heads) {
    LatentAttention a;
    a.heads = heads;
    a.q_rank = static_cast<int>(r.config.count_or({"q_lora_rank"}, 0));
    a.kv_rank = static_cast<int>(r.config.count({"kv_lora_rank"}));
    a.nope_dim = static_cast<int>(r.config.count({"qk_nope_head_dim"}));
    a.rope_dim = static_cast<int>(r.config.count({"qk_rope_head_dim"}));
    const auto width = r.config.count_or({"qk_head_dim"}, a.nope_dim + a.rope_dim);
    if (width != a.nope_dim + a.rope_dim)
        r.config.consequence("qk_head_dim", fmt::format("{} is not {} + {}", width, a.nope_dim, a.rope_dim));
    a.value_dim = static_cast<int>(r.config.count_or({"v_head_dim"}, a.nope_dim));
    a.bias = r.config.flag({"attention_bias"}, false);
    // One latent is cached for all heads, whatever these say.
    for (const auto* key : {"num_key_value_heads", "head_dim"}) r.config.ignore(key);
    return a;
}

namespace {

int read_latent_trunk(HfReading& r, int& heads) {
    const int layers = read_outer(r);
    heads = static_cast<int>(r.config.count({"num_attention_heads"}));
    return layers;
}

void add_deepseek_layers(HfReading& r, int layers, const std::vector<LatentAttention>& mixers) {
    const bool corrected = r.config.text({"topk_method"}, "noaux_tc") == "noaux_tc";
    const MixtureOfExperts moe = read_experts(r, {.router_bias = corrected});
    const DenseFeedForward dense{.intermediate = read_intermediate(r)};
    const auto given = r.config.maybe_texts({"mlp_layer_types"}).value_or(std::vector<std::string>{});
    const int first = dense_layers_first(r, layers);
    for (int i = 0; i < layers; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool is_dense = at < given.size() ? given[at] == "dense" : i < first;
        const LatentAttention& mixer = mixers[std::min(at, mixers.size() - 1)];
        Layer layer{.name = is_dense ? "dense" : "experts", .mixer = mixer, .feed_forward = moe};
        if (is_dense) layer.feed_forward = dense;
        if (mixer.indexer && mixer.indexer->shared) layer.name += "-sharing";
        add_layer(r.model, layer);
    }
    add_prediction(r, r.config.count_or({"num_nextn_predict_layers"}, 0),
                   {.name = "prediction", .mixer = mixers.front(), .feed_forward = moe}, 3);
}

void deepseek_v3(HfReading& r) {
    int heads = 0;
    const int layers = read_latent_trunk(r, heads);
    add_deepseek_layers(r, layers, {read_latent(r, heads)});
}

// Given in full, or by a period: beyond the first layers every `index_topk_freq`-th chooses, the others
// share.
std::vector<std::string> read_indexer_types(HfReading& r, int layers) {
    auto types = r.config.maybe_texts({"indexer_types"}).value_or(std::vector<std::string>{});
    const auto period = r.config.count_or({"index_topk_freq"}, 1, 1);
    const auto offset = r.config.maybe_count({"index_skip_topk_offset"});
    for (const auto* key : {"layer_types", "index_topk_pattern", "index_share_for_mtp_iteration"}) {
        if (!types.empty()) r.config.ignore(key);
    }
    if (!types.empty() && types.size() != static_cast<std::size_t>(layers))
        r.config.consequence("indexer_types", fmt::format("{} entries for {} layers", types.size(), layers));
    if (!types.empty() || period == 1) return types;
    if (!offset) r.config.fault("index_topk_freq", "needs index_skip_topk_offset or indexer_types beside it");
    for (std::int64_t i = 0; i < layers; ++i) {
        const bool full = std::max<std::int64_t>(i - offset.value_or(0) + 1, 0) % period == 0;
        types.emplace_back(full ? "full" : "shared");
    }
    return types;
}

// V3.2 and GLM-5: an indexer chooses what the latent attention reads. GLM-5.2 lets several layers share a
// choice: the sharing ones have no indexer of their own.
void deepseek_v32(HfReading& r) {
    int heads = 0;
    const int layers = read_latent_trunk(r, heads);
    LatentAttention a = read_latent(r, heads);
    Indexer indexer;
    indexer.heads = static_cast<int>(r.config.count({"index_n_heads"}));
    indexer.dim = static_cast<int>(r.config.count({"index_head_dim"}));
    indexer.top_k = static_cast<int>(r.config.count({"index_topk"}));
    indexer.query_inputs = a.q_rank;
    a.indexer = indexer;
    const auto types = read_indexer_types(r, layers);
    std::vector<LatentAttention> mixers(1, a);
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (types[i] == "shared")
            a.indexer = Indexer{.top_k = indexer.top_k, .weights = false, .shared = true};
        else
            a.indexer = indexer;
        if (i == 0) mixers.clear();
        mixers.push_back(a);
    }
    add_deepseek_layers(r, layers, mixers);
}

void minicpm3(HfReading& r) {
    int heads = 0;
    const int layers = read_latent_trunk(r, heads);
    const LatentAttention a = read_latent(r, heads);
    r.model.tied_embeddings = r.config.flag({"tie_word_embeddings"}, true);
    add_layers(r.model, layers,
               {.name = "layer",
                .mixer = a,
                .feed_forward = DenseFeedForward{.intermediate = read_intermediate(r)}});
}

// Layer numbers in the lists count from one.
void kimi_linear(HfReading& r) {
    int heads = 0;
    const int layers = read_latent_trunk(r, heads);
    LatentAttention full = read_latent(r, heads);
    if (r.config.flag({"mla_use_output_gate"}, false)) full.gate = OutputGate::element;
    r.config.flag({"mla_use_nope"}, false);
    auto linear = r.config.map("linear_attn_config");
    if (!linear) {
        r.config.fault("linear_attn_config", "missing");
        r.complete = false;
        return;
    }
    LinearAttention delta{.kind = LinearKind::kimi_delta};
    delta.key_heads = delta.value_heads = static_cast<int>(linear->count({"num_heads"}));
    delta.key_dim = delta.value_dim = static_cast<int>(linear->count({"head_dim"}));
    delta.conv = static_cast<int>(linear->count({"short_conv_kernel_size"}));
    delta.gate_rank = linear->flag({"use_full_rank_gate"}, false) ? 0 : delta.key_dim;
    const auto full_layers = linear->maybe_counts({"full_attn_layers"}).value_or(std::vector<std::int64_t>{});
    const auto delta_layers = linear->maybe_counts({"kda_layers"}).value_or(std::vector<std::int64_t>{});
    MixtureOfExperts moe = read_experts(r, {.router_bias = true});
    if (const auto width = r.config.maybe_count({"routed_expert_hidden_size"})) moe.latent = *width;
    const bool latent_norm = r.config.flag({"latent_moe_use_norm"}, false);
    if (r.config.count_or({"attn_res_block_size"}, 0) > 0) {
        r.config.ignore("attn_res_block_size");
        r.notes.emplace_back(
            "attention over the residuals of earlier blocks is not counted: a vector per layer and a few "
            "operations per channel");
    }
    const int dense = dense_layers_first(r, layers);
    const auto in = [](const std::vector<std::int64_t>& list, int i) {
        return std::find(list.begin(), list.end(), i + 1) != list.end();
    };
    for (int i = 0; i < layers; ++i) {
        if (in(full_layers, i) == in(delta_layers, i)) {
            linear->consequence("full_attn_layers",
                                fmt::format("layer {} must be in one of the two lists", i + 1));
            r.complete = false;
            return;
        }
        const bool is_full = in(full_layers, i);
        Layer layer{.name = is_full ? "full" : "linear", .mixer = NoMixer{}, .feed_forward = moe};
        if (is_full)
            layer.mixer = full;
        else
            layer.mixer = delta;
        if (i < dense) {
            layer.feed_forward = DenseFeedForward{.intermediate = read_intermediate(r)};
            layer.name += "-dense";
        } else if (latent_norm) {
            layer.extras.push_back({"latent_norm", moe.latent, 1, Role::norm, false});
        }
        add_layer(r.model, layer);
    }
}

constexpr std::array kFamilies{
    HfFamily{"deepseek_v2", deepseek_v3},  HfFamily{"deepseek_v3", deepseek_v3},
    HfFamily{"kimi_k2", deepseek_v3},      HfFamily{"deepseek_v32", deepseek_v32},
    HfFamily{"glm_moe_dsa", deepseek_v32}, HfFamily{"minicpm3", minicpm3},
    HfFamily{"kimi_linear", kimi_linear},
};

}  // namespace

std::span<const HfFamily> hf_latent_families() { return kFamilies; }

}  // namespace headroom
