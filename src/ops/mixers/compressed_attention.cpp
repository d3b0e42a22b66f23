// SPDX-License-Identifier: Apache-2.0
#include "ops/mixers/compressed_attention.h"

#include "ops/mixers/softmax_attention.h"

namespace headroom {
namespace {

// Width of what a compressor computes for each token: two stretches where neighbours overlap.
std::int64_t stretches(const CompressedAttention& a, int dim) {
    return std::int64_t{a.overlap ? 2 : 1} * dim;
}

// Values and their weights are projected for each token, weighed with a table of positions and summed.
void add_compressor(std::vector<Tensor>& to, const std::string& prefix, const CompressedAttention& a, int dim,
                    std::int64_t hidden) {
    const std::int64_t width = stretches(a, dim);
    add_linear(to, prefix + "compressor", 2 * width, hidden, false, Role::attention, prefix + "compressor");
    to.push_back({prefix + "compressor.positions", a.ratio, width, Role::state, "", 1});
    to.push_back({prefix + "compressor.norm", 1, dim, Role::norm, "", 1});
}

BytesPerToken vector_bytes(const CompressedAttention& a, const StorageFormat& kv) {
    return double(a.head_dim) * bytes_per_element(kv) / token;
}

// What a compressor keeps until a stretch is full: values and weights of its tokens at 32 bits.
Bytes unfinished(const CompressedAttention& a, int dim) {
    return Bytes(double(stretches(a, 1)) * a.ratio * double(stretches(a, dim)) * 2 * 4);
}

}  // namespace

std::vector<Tensor> tensors(const CompressedAttention& a, std::int64_t hidden) {
    const std::int64_t queries = std::int64_t{a.heads} * a.head_dim;
    const std::int64_t between = std::int64_t{a.output_groups} * a.output_rank;
    std::vector<Tensor> all;
    add_linear(all, "q_a_proj", a.q_rank, hidden, false, Role::attention, "qkv_a");
    all.push_back({"q_a_norm", 1, a.q_rank, Role::norm, "", 1});
    add_linear(all, "q_b_proj", queries, a.q_rank, false, Role::attention, "q_b");
    add_linear(all, "kv_proj", a.head_dim, hidden, false, Role::attention, "qkv_a");
    all.push_back({"kv_norm", 1, a.head_dim, Role::norm, "", 1});
    all.push_back({"sinks", a.heads, 1, Role::norm, "", 1});
    if (a.ratio > 0) add_compressor(all, "", a, a.head_dim, hidden);
    if (a.indexer) {
        const Indexer& i = *a.indexer;
        add_linear(all, "indexer.q", std::int64_t{i.heads} * i.dim, a.q_rank, false, Role::attention,
                   "indexer.q");
        add_linear(all, "indexer.weights", i.heads, hidden, false, Role::router, "indexer.weights");
        add_compressor(all, "indexer.", a, i.dim, hidden);
    }
    // Block-diagonal: each group of heads has a projection of its own.
    add_linear(all, "o_a_proj", between, queries / a.output_groups, false, Role::attention, "o_a");
    add_linear(all, "o_b_proj", hidden, between, false, Role::attention, "o_proj");
    return all;
}

KvLaw kv_law(const CompressedAttention& a, const StorageFormat& kv) {
    // The window is set aside whole when a sequence starts, and so are the unfinished stretches.
    KvLaw law;
    law.per_sequence = Tokens(static_cast<double>(a.window)) * vector_bytes(a, kv);
    if (a.ratio == 0) return law;
    law.per_token = vector_bytes(a, kv) / a.ratio;
    law.per_sequence += unfinished(a, a.head_dim);
    if (!a.indexer) return law;
    law.per_token += kv_per_token(*a.indexer) / a.ratio;
    law.per_sequence += unfinished(a, a.indexer->dim);
    return law;
}

CompressedAttention shard(const CompressedAttention& a, int tp) {
    CompressedAttention part = a;  // the shared vector, the compressors and the indexer are on every GPU
    part.heads = a.heads / tp;
    part.output_groups = a.output_groups / tp;
    return part;
}

std::string shard_fault(const CompressedAttention& a, int tp) {
    if (a.heads % tp == 0 && a.output_groups % tp == 0) return "";
    return std::to_string(a.heads) + " heads in " + std::to_string(a.output_groups) +
           " groups cannot be cut into " + std::to_string(tp);
}

std::vector<Operator> core(const CompressedAttention& a, const Batch& batch, const MixerContext& context) {
    Attention window;
    window.groups = batch.groups;
    window.heads = a.heads;
    window.kv_heads = 1;
    window.key_dim = window.value_dim = a.head_dim;
    window.latent = true;
    window.reach = static_cast<double>(a.window);
    window.kv_per_token = vector_bytes(a, context.kv);
    window.cache = context.kv.element;
    window.compute = window.activation = context.activation;
    std::vector<Operator> all;
    if (a.ratio > 0) {
        // `ratio` tokens are one vector: a ratio-th of the pairs and of the bytes per token.
        if (a.indexer) {
            Operator scores = scoring(*a.indexer, batch, context);
            auto& op = std::get<Attention>(scores.shape);
            op.heads /= a.ratio;
            op.kv_per_token /= a.ratio;
            all.push_back(std::move(scores));
        }
        Attention compressed = window;
        compressed.heads = double(a.heads) / a.ratio;
        compressed.kv_per_token /= a.ratio;
        compressed.reach = 0;
        if (a.indexer) compressed.scored_reach = double(a.indexer->top_k) * a.ratio;
        all.push_back({"attention (compressed)", compressed, 1});
    }
    all.push_back({"attention", window, 1});
    return all;
}

std::string kind_name(const CompressedAttention& a) {
    if (a.ratio == 0) return "mqa window";
    return "compressed " + std::to_string(a.ratio) + (a.indexer ? " sparse" : "");
}

}  // namespace headroom
