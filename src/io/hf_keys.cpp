// SPDX-License-Identifier: Apache-2.0
#include "io/hf_keys.h"

#include "base/diagnostic.h"

#include <algorithm>
#include <array>

namespace headroom {
namespace {

using namespace std::string_view_literals;

// Names that would otherwise be taken for sizes or switches.
constexpr std::array kHarmless{
    // positions
    "original_max_position_embeddings"sv,
    "alibi_bias_max"sv,
    "use_pos_enc"sv,
    "original_rope"sv,
    "indexer_rope_interleave"sv,
    // generation and tokens
    "max_length"sv,
    "no_repeat_ngram_size"sv,
    "num_beams"sv,
    "num_beam_groups"sv,
    "num_return_sequences"sv,
    "chunk_size_feed_forward"sv,
    "num_logits_to_keep"sv,
    "org_vocab_size"sv,
    "pool_type"sv,
    "top_k"sv,
    "cache_implementation"sv,
    "problem_type"sv,
    "context_window_size"sv,
    "prefill_chunk_size"sv,
    // arithmetic that costs and stores nothing to speak of
    "norm_type"sv,
    "bias_dropout_fusion"sv,
    "apply_query_key_layer_scaling"sv,
    "use_gemma_norm"sv,
    "softmax_scale"sv,
    "gate_lower_bound"sv,
    "activation_situ_linear_beta"sv,
    "dim_model_base"sv,
    "embeddings_scale_by_sqrt_dim"sv,
    "residual_in_fp32"sv,
    "rescale_prenorm_residual"sv,
    "norm_topk_prob"sv,
    // training
    "layerdrop"sv,
    "router_aux_loss_coef"sv,
    "aux_loss_alpha"sv,
    "z_loss_weight"sv,
    "class_num"sv,
};

// One family of names each: numerics, rotary positions, inputs other than text, classification heads.
constexpr std::array kHarmlessBeginnings{
    "rope_"sv,      "rotary_"sv, "summary_"sv,   "mm_"sv,      "image_"sv,     "img_"sv,
    "vision_"sv,    "video_"sv,  "audio_"sv,     "mup_"sv,     "embd_layer"sv, "blocksparse_triton"sv,
    "tokenizer_"sv, "init_"sv,   "time_step_"sv, "id2label"sv, "label2id"sv,   "task_specific"sv,
};
constexpr std::array kHarmlessEndings{
    "_eps"sv,  "_epsilon"sv,   "_theta"sv,    "_multiplier"sv, "_dropout"sv,        "_pdrop"sv,
    "_prob"sv, "_base_freq"sv, "_token_id"sv, "_coef"sv,       "_scaling_factor"sv,
};

constexpr std::array kWords{
    "size"sv,   "dim"sv,   "head"sv,    "layer"sv,    "expert"sv, "rank"sv,  "width"sv, "window"sv,
    "chunk"sv,  "share"sv, "pattern"sv, "interval"sv, "type"sv,   "bias"sv,  "tie"sv,   "cross"sv,
    "mtp"sv,    "nextn"sv, "lora"sv,    "latent"sv,   "moe"sv,    "ratio"sv, "freq"sv,  "mamba"sv,
    "conv"sv,   "state"sv, "topk"sv,    "top_k"sv,    "gate"sv,   "norm"sv,  "sink"sv,  "sparse"sv,
    "linear"sv, "block"sv, "altup"sv,   "adapter"sv,
};

}  // namespace

bool key_is_harmless(std::string_view key) {
    return std::find(kHarmless.begin(), kHarmless.end(), key) != kHarmless.end() ||
           std::any_of(kHarmlessBeginnings.begin(), kHarmlessBeginnings.end(),
                       [&](std::string_view part) { return key.substr(0, part.size()) == part; }) ||
           std::any_of(kHarmlessEndings.begin(), kHarmlessEndings.end(), [&](std::string_view part) {
               return key.size() >= part.size() && key.substr(key.size() - part.size()) == part;
           });
}

bool key_changes_the_answer(std::string_view key) {
    return std::any_of(kWords.begin(), kWords.end(),
                       [&](std::string_view word) { return key.find(word) != std::string_view::npos; });
}

bool value_is_inert(const JsonValue& v) {
    switch (v.kind) {
        case JsonValue::Kind::null:
        case JsonValue::Kind::not_finite:
            return true;
        case JsonValue::Kind::boolean:
            return !v.boolean;
        case JsonValue::Kind::number:
            return v.number == 0;
        case JsonValue::Kind::text:
            return v.text.empty();
        case JsonValue::Kind::list:
            return v.items.empty();
        case JsonValue::Kind::map:
            return v.members.empty();
    }
    return true;
}

std::string key_meant(std::string_view key, const std::vector<std::string>& absent) {
    // Short names differ by a letter or two and mean different things, so only long ones are compared, and
    // only slips of up to two letters count.
    if (key.size() < 9) return "";
    const std::string found = did_you_mean(key, absent);
    if (found.empty()) return "";
    const std::size_t longer = std::max(found.size(), key.size()),
                      shorter = std::min(found.size(), key.size());
    if (longer - shorter > 2) return "";
    std::size_t front = 0, back = 0;
    while (front < shorter && found[front] == key[front]) ++front;
    while (back < shorter - front && found[found.size() - 1 - back] == key[key.size() - 1 - back]) ++back;
    return longer - front - back <= 2 ? found : "";
}

}  // namespace headroom
