// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V4: a window beside caches compressed by a ratio per layer, and hyper-connections.
#include "io/hf_family.h"

#include <array>

#include <fmt/core.h>

namespace headroom {
namespace {

CompressedAttention read_compressed(HfReading& r) {
    CompressedAttention a;
    a.heads = static_cast<int>(r.config.count({"num_attention_heads"}));
    a.head_dim = static_cast<int>(r.config.count({"head_dim"}));
    a.q_rank = static_cast<int>(r.config.count({"q_lora_rank"}));
    a.output_groups = static_cast<int>(r.config.count({"o_groups"}));
    a.output_rank = static_cast<int>(r.config.count({"o_lora_rank"}));
    a.window = r.config.count({"sliding_window"});
    if (const auto heads = r.config.count_or({"num_key_value_heads"}, 1); heads != 1)
        r.config.fault("num_key_value_heads",
                       fmt::format("{} heads; one shared vector is understood", heads));
    r.config.ignore("qk_rope_head_dim");
    return a;
}

// Streams of the residual are mixed before and after both parts of a layer: (2 + n) n weights for each of the
// n x hidden channels, and a few scalars.
void add_connections(std::vector<ExtraTensor>& to, std::int64_t hidden, std::int64_t streams) {
    const std::int64_t mixed = (2 + streams) * streams;
    to.push_back({"hyper_connections", 2 * mixed, streams * hidden, Role::router, true});
    to.push_back({"hyper_connections.scalars", 2 * (mixed + 3), 1, Role::norm, false});
}

void deepseek_v4(HfReading& r) {
    const int layers = read_outer(r);
    const CompressedAttention base = read_compressed(r);
    Indexer indexer;
    indexer.heads = static_cast<int>(r.config.count({"index_n_heads"}));
    indexer.dim = static_cast<int>(r.config.count({"index_head_dim"}));
    indexer.top_k = static_cast<int>(r.config.count({"index_topk"}));
    indexer.query_inputs = base.q_rank;
    // The list may go on with the prediction layers.
    const auto ratios = r.config.maybe_counts({"compress_ratios"}).value_or(std::vector<std::int64_t>{});
    if (ratios.size() < static_cast<std::size_t>(layers)) {
        give_up(r, "compress_ratios", fmt::format("{} entries for {} layers", ratios.size(), layers));
        return;
    }
    const MixtureOfExperts moe = read_experts(r, {.router_bias = true});
    r.config.ignore("num_hash_layers");  // they choose experts by a table of tokens, which is no parameter
    r.config.ignore("hc_sinkhorn_iters");
    r.config.ignore("expert_dtype");  // read with the quantization
    const auto streams = r.config.count_or({"hc_mult"}, 1, 1);
    r.notes.emplace_back("the residual's streams are counted in weights, not in the traffic of activations");
    const auto layer_of = [&](std::int64_t ratio) {
        CompressedAttention a = base;
        a.ratio = static_cast<int>(ratio);
        a.overlap = ratio == 4;
        if (ratio == 4) a.indexer = indexer;
        Layer layer{
            .name = ratio == 0 ? "window" : fmt::format("ratio-{}", ratio), .mixer = a, .feed_forward = moe};
        if (streams > 1) add_connections(layer.extras, r.model.hidden, streams);
        return layer;
    };
    for (int i = 0; i < layers; ++i) {
        const std::int64_t ratio = ratios[static_cast<std::size_t>(i)];
        if (ratio < 0 || ratio > 1'000'000)
            r.config.fault("compress_ratios", fmt::format("{} is out of range", ratio));
        add_layer(r.model, layer_of(ratio));
    }
    if (streams > 1)
        r.model.extras.push_back(
            {"hyper_connections (head)", streams, streams * r.model.hidden, Role::router, true});
    add_prediction(r, r.config.count_or({"num_nextn_predict_layers"}, 0), layer_of(0), 3);
}

constexpr std::array kFamilies{HfFamily{"deepseek_v4", deepseek_v4}, HfFamily{"deepseek_ref", deepseek_v4}};

}  // namespace

std::span<const HfFamily> hf_compressed_families() { return kFamilies; }

}  // namespace headroom
