// SPDX-License-Identifier: Apache-2.0
#include "io/hf_family.h"

#include <array>

#include <fmt/core.h>

namespace headroom {
namespace {

// Sizes that transformers' configuration classes assume where a config leaves them out.
constexpr HfDefaults kLlama{
    .hidden = 4096, .layers = 32, .heads = 32, .vocabulary = 32000, .max_context = 2048};
constexpr HfDefaults kGemma2{.hidden = 2304,
                             .layers = 26,
                             .heads = 8,
                             .kv_heads = 4,
                             .head_dim = 256,
                             .vocabulary = 256000,
                             .max_context = 8192,
                             .tied = true};
constexpr HfDefaults kGemma3{.hidden = 2304,
                             .layers = 26,
                             .heads = 8,
                             .kv_heads = 4,
                             .head_dim = 256,
                             .vocabulary = 262208,
                             .max_context = 131072,
                             .tied = true};

// A wrapper's text_config may leave everything to the class; a config by itself must say its sizes.
HfDefaults sizes(const HfReading& r, const HfDefaults& assumed) {
    if (!r.config.path_of("").empty()) return assumed;
    return {.kv_heads = assumed.kv_heads,
            .head_dim = assumed.head_dim,
            .max_context = assumed.max_context,
            .tied = assumed.tied};
}

void add_uniform(HfReading& r, int layers, const SoftmaxAttention& a, const DenseFeedForward& f,
                 int norms = 2) {
    add_layers(r.model, layers, {.name = "layer", .mixer = a, .feed_forward = f, .norms = norms});
}

void llama(HfReading& r) {
    const HfTrunk t = read_trunk(r, sizes(r, kLlama));
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias", "bias"}, false);
    set_bias(a, bias, bias);
    a.window = useful_window(r.model, r.config.count_or({"sliding_window"}, 0));
    const DenseFeedForward f{.intermediate = read_intermediate(r, r.config.path_of("").empty() ? 0 : 11008),
                             .bias = r.config.flag({"mlp_bias"}, false)};
    add_uniform(r, t.layers, a, f);
}

// The old InternLM, Baichuan, XVERSE and Orion are LLaMA with fewer choices.
void orion(HfReading& r) {
    llama(r);
    r.model.norm = NormKind::layer;
}

// A window only for the layers from max_window_layers on, and only with use_sliding_window.
std::int64_t qwen_window(HfReading& r, int layer, int layers) {
    const bool used = r.config.flag({"use_sliding_window"}, false);
    const auto window = r.config.count_or({"sliding_window"}, 0);
    const auto first = r.config.count_or({"max_window_layers"}, layers);
    return used && layer >= first ? useful_window(r.model, window) : 0;
}

void qwen(HfReading& r, bool qkv_bias, bool output_bias, QkNorm norm) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    set_bias(a, qkv_bias, output_bias);
    a.qk_norm = norm;
    const DenseFeedForward f{.intermediate = read_intermediate(r)};
    for (int i = 0; i < t.layers; ++i) {
        a.window = qwen_window(r, i, t.layers);
        add_layer(r.model, {.name = a.window > 0 ? "local" : "layer", .mixer = a, .feed_forward = f});
    }
}

void qwen2(HfReading& r) { qwen(r, true, false, QkNorm::none); }

void qwen3(HfReading& r) {
    const bool bias = r.config.flag({"attention_bias"}, false);
    qwen(r, bias, bias, QkNorm::head);
}

// Qwen2 with prediction layers: each takes the token and the hidden state through one projection.
void mimo(HfReading& r) {
    qwen(r, r.config.flag({"attention_bias"}, true), false, QkNorm::none);
    r.model.prediction.count = static_cast<int>(r.config.count_or({"num_nextn_predict_layers"}, 0));
    if (r.model.prediction.count == 0) return;
    const std::int64_t h = r.model.hidden;
    r.model.prediction.extras = {{"input_proj", h, 2 * h, Role::ffn, true},
                                 {"norms", 3, h, Role::norm, false}};
}

void phi3(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a, bias, bias);
    a.window = useful_window(r.model, r.config.count_or({"sliding_window"}, 0));
    add_uniform(r, t.layers, a, {.intermediate = read_intermediate(r)});
}

// Block-sparse in every second layer. Its cache is whole, so only the reads are overstated by counting it as
// dense.
void phi3small(HfReading& r) {
    const HfTrunk t = read_trunk(r, {.tied = true});
    SoftmaxAttention a = grouped_attention(t);
    set_bias(a, true, true);
    const DenseFeedForward f{.intermediate = r.config.count({"ff_intermediate_size"}), .bias = true};
    r.model.norm = NormKind::layer;
    r.config.maybe_count({"dense_attention_every_n_layers"});
    for (const auto* key :
         {"blocksparse_block_size", "blocksparse_num_local_blocks", "blocksparse_vert_stride"})
        r.config.maybe_count({key});
    r.notes.emplace_back(
        "block-sparse attention is counted as dense: the same cache, more reads than needed");
    add_uniform(r, t.layers, a, f);
}

// One norm before attention and feed-forward, which run side by side; no biases in the norms.
void cohere(HfReading& r) {
    const HfTrunk t = read_trunk(r, {.tied = true});
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a, bias, bias);
    if (r.config.flag({"use_qk_norm"}, false)) a.qk_norm = QkNorm::projection;
    add_uniform(r, t.layers, a, {.intermediate = read_intermediate(r)}, 1);
}

void exaone4(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    a.qk_norm = QkNorm::head;
    const std::string pattern = r.config.text({"sliding_window_pattern"}, "");
    const auto window = r.config.count_or({"sliding_window"}, 0);
    const auto types = read_layer_types(r, t.layers, [&](int i) {
        const bool local = !pattern.empty() && i + 1 < t.layers &&
                           pattern[static_cast<std::size_t>(i) % pattern.size()] == 'L';
        return local ? "sliding_attention" : "full_attention";
    });
    const DenseFeedForward f{.intermediate = read_intermediate(r)};
    add_windowed_layers(r, types, window, a, f);
}

void olmo(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a, bias, bias);
    a.qk_norm = QkNorm::projection;
    const auto window = r.config.count_or({"sliding_window"}, 0);
    const auto types = read_layer_types(r, t.layers, [&](int i) {
        return window > 0 && (i + 1) % 4 != 0 ? "sliding_attention" : "full_attention";
    });
    const DenseFeedForward f{.intermediate = read_intermediate(r)};
    add_windowed_layers(r, types, window, a, f);
}

// The sharing of caches between neighbours counts only when it is switched on.
void hunyuan_dense(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a, bias, bias);
    if (r.config.flag({"use_qk_norm"}, false)) a.qk_norm = QkNorm::head;
    const auto factor = r.config.count_or({"cla_share_factor"}, 1, 1);
    const bool shared = r.config.flag({"use_cla"}, false);
    const DenseFeedForward f{.intermediate = read_intermediate(r),
                             .bias = r.config.flag({"mlp_bias"}, false)};
    for (int i = 0; i < t.layers; ++i) {
        a.shares_kv = shared && i % factor != 0;
        add_layer(r.model, {.name = a.shares_kv ? "sharing" : "layer", .mixer = a, .feed_forward = f});
    }
}

void stablelm(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    a.qkv_bias = r.config.flag({"use_qkv_bias"}, false);
    if (r.config.flag({"qk_layernorm"}, false))
        r.config.fault("qk_layernorm", "norms of each head in stablelm are not understood");
    r.model.norm = NormKind::layer;
    const bool parallel = r.config.flag({"use_parallel_residual"}, false);
    add_uniform(r, t.layers, a, {.intermediate = read_intermediate(r)}, parallel ? 1 : 2);
}

// LLaDA: LLaMA's layers under names of its own.
void llada(HfReading& r) {
    const HfTrunk t = read_trunk(r);
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"include_bias"}, false);
    set_bias(a, bias, bias);
    r.notes.emplace_back(
        "a diffusion model: it denoises blocks of tokens; steps are counted as of a decoder");
    r.config.ignore("embedding_size");
    add_uniform(r, t.layers, a, {.intermediate = read_intermediate(r), .bias = bias});
}

void gemma(HfReading& r) {
    const HfTrunk t = read_trunk(r, {.head_dim = 256, .tied = true});
    SoftmaxAttention a = grouped_attention(t);
    add_uniform(r, t.layers, a, {.intermediate = read_intermediate(r)});
}

// Norms before and after both parts; local and global layers alternate by `period`, the last of each global.
void gemma_local(HfReading& r, const HfDefaults& defaults, std::int64_t intermediate, QkNorm norm,
                 int period) {
    const HfTrunk t = read_trunk(r, sizes(r, defaults));
    SoftmaxAttention a = grouped_attention(t);
    const bool bias = r.config.flag({"attention_bias"}, false);
    set_bias(a, bias, bias);
    a.qk_norm = norm;
    const auto window = r.config.count_or({"sliding_window", "sliding_window_size"}, 4096);
    const auto every = r.config.count_or({"sliding_window_pattern"}, period, 1);
    const auto types = read_layer_types(
        r, t.layers, [&](int i) { return (i + 1) % every == 0 ? "full_attention" : "sliding_attention"; });
    const DenseFeedForward f{.intermediate = read_intermediate(r, intermediate)};
    add_windowed_layers(r, types, window, a, f, 4);
}

void gemma2(HfReading& r) { gemma_local(r, kGemma2, 9216, QkNorm::none, 2); }
void gemma3(HfReading& r) { gemma_local(r, kGemma3, 9216, QkNorm::head, 6); }

constexpr std::array kFamilies{
    HfFamily{"llama", llama},
    HfFamily{"mistral", llama},
    HfFamily{"ministral3", llama},
    HfFamily{"baichuan", llama},
    HfFamily{"xverse", llama},
    HfFamily{"internlm", llama},
    HfFamily{"internlm2", llama},
    HfFamily{"exaone", llama},
    HfFamily{"granite", llama},
    HfFamily{"llava", llama},
    HfFamily{"orion", orion},
    HfFamily{"qwen2", qwen2},
    HfFamily{"qwen2_vl", qwen2},
    HfFamily{"qwen2_5_vl", qwen2},
    HfFamily{"qwen2_5_vl_text", qwen2},
    HfFamily{"qwen3", qwen3},
    HfFamily{"qwen3_vl_text", qwen3},
    HfFamily{"mimo", mimo},
    HfFamily{"phi3", phi3},
    HfFamily{"phi3_v", phi3},
    HfFamily{"phi3small", phi3small},
    HfFamily{"cohere", cohere},
    HfFamily{"exaone4", exaone4},
    HfFamily{"olmo2", olmo},
    HfFamily{"olmo3", olmo},
    HfFamily{"hunyuan_v1_dense", hunyuan_dense},
    HfFamily{"stablelm", stablelm},
    HfFamily{"llada", llada},
    HfFamily{"gemma", gemma},
    HfFamily{"gemma2", gemma2},
    HfFamily{"gemma3_text", gemma3},
};

}  // namespace

std::span<const HfFamily> hf_dense_families() { return kFamilies; }

}  // namespace headroom
