// SPDX-License-Identifier: Apache-2.0
#include "ops/mixers/latent_attention.h"

#include "ops/mixers/softmax_attention.h"

namespace headroom {
namespace {

// A group that does not divide the rope part leaves it at 16 bits: FlashMLA's FP8 layout has 512 FP8 values,
// four fp32 scales and 64 bf16 values, 656 bytes in all.
BytesPerToken latent_per_token(const LatentAttention& a, const StorageFormat& kv) {
    const bool rope_apart = kv.group > 0 && a.rope_dim % kv.group != 0;
    const Bytes rope = rope_apart ? Bytes(2) : bytes_per_element(kv);
    return (double(a.kv_rank) * bytes_per_element(kv) + double(a.rope_dim) * rope) / token;
}

// Few fresh tokens: the up-projections are absorbed into query and output, and heads attend over the latent
// itself.
Attention absorbed(const LatentAttention& a) {
    Attention op;
    op.heads = a.heads;
    op.kv_heads = 1;
    op.key_dim = a.kv_rank + a.rope_dim;
    op.value_dim = a.kv_rank;
    op.latent = true;
    return op;
}

// Many fresh tokens: keys and values are expanded per head, which costs fewer operations per pair.
Attention expanded(const LatentAttention& a) {
    Attention op;
    op.heads = a.heads;
    op.kv_heads = a.heads;
    op.key_dim = a.nope_dim + a.rope_dim;
    op.value_dim = a.value_dim;
    return op;
}

}  // namespace

std::vector<Tensor> tensors(const LatentAttention& a, std::int64_t hidden) {
    const std::int64_t query_width = std::int64_t{a.heads} * (a.nope_dim + a.rope_dim);
    std::vector<Tensor> all;
    if (a.q_rank > 0) {
        add_linear(all, "q_a_proj", a.q_rank, hidden, a.bias, Role::attention, "qkv_a");
        all.push_back({"q_a_norm", 1, a.q_rank, Role::norm, "", 1});
        add_linear(all, "q_b_proj", query_width, a.q_rank, false, Role::attention, "q_b");
    } else {
        add_linear(all, "q_proj", query_width, hidden, false, Role::attention, "qkv_a");
    }
    add_linear(all, "kv_a_proj", a.kv_rank + a.rope_dim, hidden, a.bias, Role::attention, "qkv_a");
    all.push_back({"kv_a_norm", 1, a.kv_rank, Role::norm, "", 1});
    add_linear(all, "kv_b_proj", std::int64_t{a.heads} * (a.nope_dim + a.value_dim), a.kv_rank, false,
               Role::attention, "kv_b");
    const std::int64_t outputs = std::int64_t{a.heads} * a.value_dim;
    if (a.gate == OutputGate::element)
        add_linear(all, "gate_proj", outputs, hidden, false, Role::attention, "gate");
    if (a.gate == OutputGate::head)
        add_linear(all, "gate_proj", a.heads, hidden, false, Role::attention, "gate");
    add_linear(all, "o_proj", hidden, outputs, a.bias, Role::attention, "o_proj");
    if (a.indexer) {
        for (Tensor& t : tensors(*a.indexer, hidden)) all.push_back(std::move(t));
    }
    return all;
}

KvLaw kv_law(const LatentAttention& a, const StorageFormat& kv) {
    KvLaw law;
    law.per_token = latent_per_token(a, kv);
    if (a.indexer) law.per_token += kv_per_token(*a.indexer);
    return law;
}

LatentAttention shard(const LatentAttention& a, int tp) {
    LatentAttention part = a;  // heads are cut; the latent, its projection and the indexer are on every GPU
    part.heads = a.heads / tp;
    return part;
}

std::string shard_fault(const LatentAttention& a, int tp) {
    if (a.heads % tp == 0) return "";
    return std::to_string(a.heads) + " attention heads cannot be cut into " + std::to_string(tp);
}

std::vector<Operator> core(const LatentAttention& a, const Batch& batch, const MixerContext& context) {
    // Per pair, absorbed costs 2 kv_rank + rope operations where expanded costs nope + rope + value; expanded
    // also pays the projection of past tokens. Engines expand when a sequence brings a chunk and absorb when
    // it decodes.
    Attention few = absorbed(a), many = expanded(a);
    for (const SequenceGroup& g : batch.groups) (g.fresh < 16 ? few : many).groups.push_back(g);
    std::vector<Operator> all;
    if (a.indexer && !a.indexer->shared) all.push_back(scoring(*a.indexer, batch, context));
    for (Attention* op : {&few, &many}) {
        if (op->groups.empty()) continue;
        op->kv_per_token = latent_per_token(a, context.kv);
        op->cache = context.kv.element;
        op->compute = op->activation = context.activation;
        if (a.indexer) op->scored_reach = a.indexer->top_k;
        all.push_back({op == &few ? "attention" : "attention (expanded)", *op, 1});
    }
    double past_expanded = 0;
    for (const SequenceGroup& g : many.groups) past_expanded += g.sequences * g.past;
    if (past_expanded > 0) {
        Matmul again{.rows = past_expanded,
                     .outputs = double(a.heads) * (a.nope_dim + a.value_dim),
                     .inputs = double(a.kv_rank),
                     .activation = context.activation};
        again.groups = 0;  // the weights were read for the fresh tokens
        all.push_back({"kv_b (past)", again, 1});
    }
    return all;
}

std::string kind_name(const LatentAttention& a) { return a.indexer ? "mla sparse" : "mla"; }

}  // namespace headroom
