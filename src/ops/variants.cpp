// SPDX-License-Identifier: Apache-2.0
#include "ops/variants.h"

#include <charconv>

namespace headroom {
namespace {

LatentAttention latent_of(const SoftmaxAttention& a) {
    return {.heads = a.heads,
            .q_rank = 0,
            .kv_rank = 512,
            .nope_dim = a.head_dim,
            .rope_dim = 64,
            .value_dim = a.value_dim,
            .bias = false,
            .gate = a.gate,
            .indexer = {}};
}

}  // namespace

std::optional<AttentionVariant> attention_variant(const std::string& name) {
    using Kind = AttentionVariant::Kind;
    if (name == "mha") return AttentionVariant{Kind::mha, 1};
    if (name == "mqa") return AttentionVariant{Kind::mqa, 1};
    if (name == "mla") return AttentionVariant{Kind::mla, 1};
    if (name.rfind("gqa:", 0) != 0) return std::nullopt;
    AttentionVariant variant{Kind::gqa, 0};
    const char* end = name.data() + name.size();
    const auto [at, code] = std::from_chars(name.data() + 4, end, variant.group);
    if (code != std::errc{} || at != end || variant.group < 1) return std::nullopt;
    return variant;
}

std::string redraw_attention(Model& model, const AttentionVariant& variant) {
    using Kind = AttentionVariant::Kind;
    bool any = false;
    for (Layer& layer : model.kinds) {
        auto* attention = std::get_if<SoftmaxAttention>(&layer.mixer);
        if (attention == nullptr || attention->memory > 0) continue;  // an image's cache stays as it is
        any = true;
        if (variant.kind == Kind::gqa && attention->heads % variant.group != 0) {
            return std::to_string(attention->heads) + " heads have no groups of " +
                   std::to_string(variant.group);
        }
        if (variant.kind == Kind::mla) {
            layer.mixer = latent_of(*attention);
            continue;
        }
        attention->kv_heads = variant.kind == Kind::mqa   ? 1
                              : variant.kind == Kind::gqa ? attention->heads / variant.group
                                                          : attention->heads;
    }
    return any ? "" : "the model has no layer of softmax attention to redraw";
}

std::string removed_freedom(const AttentionVariant& variant) {
    using Kind = AttentionVariant::Kind;
    switch (variant.kind) {
        case Kind::mha:
            return "none: every query head has keys and values of its own";
        case Kind::gqa:
            return std::to_string(variant.group) + " query heads share one head of keys and values";
        case Kind::mqa:
            return "all query heads share one head of keys and values";
        case Kind::mla:
            return "keys and values of all heads are linear maps of one latent vector of 512, with one rope "
                   "part of 64";
    }
    return "";
}

}  // namespace headroom
