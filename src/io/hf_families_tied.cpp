// SPDX-License-Identifier: Apache-2.0
// Zamba2: blocks of attention whose weights many layers share. Llama-3.2-Vision: layers that attend to an
// image.
#include "io/hf_family.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace headroom {
namespace {

StateSpace zamba_mamba(HfReading& r) {
    StateSpace s;
    s.inner = product(r, "mamba_expand", r.config.count_or({"mamba_expand"}, 2, 1), r.model.hidden);
    s.state = static_cast<int>(r.config.count_or({"mamba_d_state"}, 64, 1));
    s.conv = static_cast<int>(r.config.count_or({"mamba_d_conv"}, 4, 1));
    s.heads = static_cast<int>(r.config.count_or({"n_mamba_heads"}, 8, 1));
    s.groups = static_cast<int>(r.config.count_or({"mamba_ngroups"}, 1, 1));
    s.bias = r.config.flag({"add_bias_linear"}, false);
    s.state_type = r.model.activation;
    for (const auto* key : {"mamba_headdim", "chunk_size", "use_conv_bias"}) r.config.ignore(key);
    return s;
}

// Adapters and the projection behind the block belong to each place where it is used.
void add_zamba_adapters(HfReading& r, Layer& layer, std::int64_t inputs, std::int64_t intermediate) {
    const std::int64_t h = r.model.hidden;
    const auto rank = r.config.count_or({"adapter_rank"}, 128, 1);
    layer.extras.push_back({"adapter_projection", h, h, Role::ffn, true});
    layer.extras.push_back({"mlp_adapter_in", rank, h, Role::ffn, true});
    layer.extras.push_back({"mlp_adapter_out", 2 * intermediate, rank, Role::ffn, true, Cut::rows});
    if (!r.config.flag({"use_shared_attention_adapter"}, false)) return;
    layer.extras.push_back({"qkv_adapters_in", 3 * rank, inputs, Role::attention, true});
    layer.extras.push_back({"qkv_adapters_out", 3 * inputs, rank, Role::attention, true, Cut::rows});
}

// A hybrid layer is a shared block, which reads the residual beside the embedding (twice the width), before a
// Mamba-2 layer. `num_mem_blocks` such blocks take turns. (transformers, modeling_zamba2.py)
void zamba2(HfReading& r) {
    HfTrunk t = read_trunk(r, {.max_context = 4096, .tied = true});
    const std::int64_t h = r.model.hidden;
    const auto inputs = r.config.count_or({"attention_hidden_size"}, 2 * h, 1);
    if (!r.config.has("attention_head_dim")) t.head_dim = static_cast<int>(inputs / t.heads);
    const StateSpace mamba = zamba_mamba(r);
    SoftmaxAttention a = grouped_attention(t);
    a.inputs = inputs;
    const std::int64_t width = read_intermediate(r, 4 * h);
    Layer block{.name = "shared",
                .mixer = a,
                .feed_forward = DenseFeedForward{.intermediate = width, .bias = mamba.bias},
                .norms = static_cast<int>(std::clamp<std::int64_t>(inputs / h, 1, 8)) + 1};
    block.copies = static_cast<int>(r.config.count_or({"num_mem_blocks"}, 1, 1));
    add_zamba_adapters(r, block, inputs, width);
    for (const auto* key : {"hybrid_layer_ids", "use_mem_rope", "use_mem_eff_path", "use_long_context"})
        r.config.ignore(key);
    const auto types =
        r.config.maybe_texts({"layers_block_type", "layer_types"}).value_or(std::vector<std::string>{});
    if (types.size() != static_cast<std::size_t>(t.layers)) {
        give_up(r, "layers_block_type", fmt::format("{} entries for {} layers", types.size(), t.layers));
        return;
    }
    for (const std::string& type : types) {
        if (type == "hybrid")
            add_layer(r.model, block);
        else if (type != "mamba")
            r.config.fault("layers_block_type", fmt::format("\"{}\" is not understood", type));
        add_layer(r.model, {.name = "mamba", .mixer = mamba, .norms = 1});
    }
    r.notes.emplace_back(fmt::format(
        "a hybrid layer counts as two: one of {} shared blocks and its Mamba layer", block.copies));
}

// Tokens of the largest image: every tile's patches and its class token.
std::int64_t image_tokens(HfReading& r) {
    auto vision = r.root.map("vision_config");
    if (!vision) return 4 * 1601;
    const auto patch = vision->count_or({"patch_size"}, 14, 1);
    const auto side = std::min<std::int64_t>(vision->count_or({"image_size"}, 560, 1) / patch, 100'000);
    return std::min<std::int64_t>(vision->count_or({"max_num_tiles"}, 4, 1), 10'000) * (side * side + 1);
}

// The text tower of Llama-3.2-Vision: the layers in cross_attention_layers attend to the image and to no
// text.
void mllama(HfReading& r) {
    const HfTrunk t = read_trunk(r, {.max_context = 131072});
    const SoftmaxAttention text = grouped_attention(t);
    SoftmaxAttention image = text;
    image.memory = image_tokens(r);
    image.qk_norm = QkNorm::head;
    const DenseFeedForward f{.intermediate = read_intermediate(r)};
    // Eight more rows than the head: the image's own tokens.
    r.model.extras.push_back({"image_token_rows", 8, r.model.hidden, Role::norm});
    const auto crossing =
        r.config.maybe_counts({"cross_attention_layers"}).value_or(std::vector<std::int64_t>{});
    Layer cross{.name = "image", .mixer = image, .feed_forward = f};
    cross.extras.push_back({"cross_gates", 2, 1, Role::norm});
    for (const std::int64_t layer : crossing) {
        if (layer < 0 || layer >= t.layers)
            r.config.consequence("cross_attention_layers", fmt::format("there is no layer {}", layer));
    }
    for (int i = 0; i < t.layers; ++i) {
        const bool crosses = std::find(crossing.begin(), crossing.end(), i) != crossing.end();
        add_layer(r.model, crosses ? cross : Layer{.name = "text", .mixer = text, .feed_forward = f});
    }
    r.notes.emplace_back(fmt::format(
        "every sequence is taken to carry one image of {} tokens; without one, engines pass over the "
        "layers that attend to it",
        image.memory));
}

constexpr std::array kFamilies{HfFamily{"zamba2", zamba2}, HfFamily{"mllama_text_model", mllama}};

}  // namespace

std::span<const HfFamily> hf_tied_families() { return kFamilies; }

}  // namespace headroom
