// SPDX-License-Identifier: Apache-2.0
#include "ops/mixers/softmax_attention.h"

#include <algorithm>

namespace headroom {
namespace {

double reach(const SoftmaxAttention& a) { return static_cast<double>(a.window > 0 ? a.window : a.chunk); }

}  // namespace

std::vector<Tensor> tensors(const SoftmaxAttention& a, std::int64_t hidden) {
    const std::int64_t inputs = a.inputs > 0 ? a.inputs : hidden;
    const std::int64_t queries = std::int64_t{a.heads} * a.head_dim;
    const std::int64_t keys = std::int64_t{a.kv_heads} * a.head_dim;
    const std::int64_t values = std::int64_t{a.kv_heads} * a.value_dim;
    const std::int64_t outputs = std::int64_t{a.heads} * a.value_dim;
    std::vector<Tensor> all;
    add_linear(all, "q_proj", queries, inputs, a.qkv_bias, Role::attention, "qkv");
    if (!a.shares_kv) {
        // Of a memory, keys and values are made once, not from the text's tokens.
        const std::string product = a.memory > 0 ? "" : "qkv";
        add_linear(all, "k_proj", keys, inputs, a.qkv_bias, Role::attention, product);
        if (!a.value_is_key) add_linear(all, "v_proj", values, inputs, a.qkv_bias, Role::attention, product);
    }
    if (a.gate == OutputGate::element)
        add_linear(all, "gate_proj", outputs, hidden, false, Role::attention, "qkv");
    if (a.gate == OutputGate::head)
        add_linear(all, "gate_proj", a.heads, hidden, false, Role::attention, "qkv");
    add_linear(all, "o_proj", hidden, outputs, a.output_bias, Role::attention, "o_proj");
    if (a.qk_norm == QkNorm::head)
        all.push_back({"qk_norm", a.shares_kv ? 1 : 2, a.head_dim, Role::norm, "", 1});
    if (a.qk_norm == QkNorm::projection) {
        all.push_back({"qk_norm", queries + (a.shares_kv ? 0 : keys), 1, Role::norm, "", 1});
    }
    if (a.sinks) all.push_back({"sinks", a.heads, 1, Role::norm, "", 1});
    if (a.indexer) {
        for (Tensor& t : tensors(*a.indexer, hidden)) all.push_back(std::move(t));
    }
    return all;
}

KvLaw kv_law(const SoftmaxAttention& a, const StorageFormat& kv) {
    if (a.shares_kv) return {};
    KvLaw law;
    law.per_token = double(a.kv_heads) * (a.head_dim + a.value_dim) * bytes_per_element(kv) / token;
    if (a.indexer) law.per_token += kv_per_token(*a.indexer);
    if (a.memory > 0)
        return {.per_sequence = Tokens(static_cast<double>(a.memory)) * law.per_token, .memory = true};
    law.cap = a.window > 0 ? a.window : a.chunk;
    law.chunked = a.chunk > 0 && a.window == 0;
    return law;
}

SoftmaxAttention shard(const SoftmaxAttention& a, int tp) {
    SoftmaxAttention part = a;
    part.heads = a.heads / tp;
    part.kv_heads = std::max(1, a.kv_heads / tp);
    return part;
}

std::string shard_fault(const SoftmaxAttention& a, int tp) {
    if (a.heads % tp != 0)
        return std::to_string(a.heads) + " attention heads cannot be cut into " + std::to_string(tp);
    if (a.kv_heads % tp != 0 && tp % a.kv_heads != 0) {
        return std::to_string(a.kv_heads) + " key-value heads can be neither cut into nor replicated over " +
               std::to_string(tp);
    }
    return "";
}

namespace {

// Cross-attention over a memory: every fresh token sees all of it. A sequence's first step makes its keys and
// values.
std::vector<Operator> cross_attention(const SoftmaxAttention& a, const Batch& batch,
                                      const MixerContext& context) {
    const double memory = static_cast<double>(a.memory);
    const Bytes cached = kv_law(a, context.kv).per_sequence;
    Stream attend;
    double starting = 0;
    for (const SequenceGroup& g : batch.groups) {
        attend.work.flop += Flops(2 * g.sequences * g.fresh * a.heads * (a.head_dim + a.value_dim) * memory);
        attend.work.kv += g.sequences * cached;
        attend.work.activations += Bytes(g.sequences * g.fresh * a.heads * (a.head_dim + a.value_dim) *
                                         bits(context.activation) / 8);
        if (g.past > 0) continue;
        starting += g.sequences;
        attend.work.kv_written += g.sequences * cached;
    }
    attend.compute = context.activation;
    std::vector<Operator> all;
    if (starting > 0) {
        all.push_back({"kv (image)",
                       Matmul{.rows = starting * memory,
                              .outputs = double(a.kv_heads) * (a.head_dim + a.value_dim),
                              .inputs = double(a.inputs > 0 ? a.inputs : context.hidden),
                              .weights = context.weights,
                              .activation = context.activation},
                       1});
    }
    all.push_back({"attention (image)", attend, 1});
    return all;
}

}  // namespace

std::vector<Operator> core(const SoftmaxAttention& a, const Batch& batch, const MixerContext& context) {
    if (a.memory > 0) return cross_attention(a, batch, context);
    Attention op;
    op.groups = batch.groups;
    op.heads = a.heads;
    op.kv_heads = a.kv_heads;
    op.key_dim = a.head_dim;
    op.value_dim = a.value_dim;
    op.reach = reach(a);
    op.chunked = a.chunk > 0 && a.window == 0;
    op.stores_kv = !a.shares_kv;
    op.kv_per_token = double(a.kv_heads) * (a.head_dim + a.value_dim) * bytes_per_element(context.kv) / token;
    op.cache = context.kv.element;
    op.compute = op.activation = context.activation;
    std::vector<Operator> all;
    if (a.indexer) {
        op.scored_reach = a.indexer->top_k;
        if (!a.indexer->shared) all.push_back(scoring(*a.indexer, batch, context));
    }
    all.push_back({"attention", op, 1});
    return all;
}

std::string kind_name(const SoftmaxAttention& a) {
    std::string name = a.kv_heads == a.heads ? "mha" : a.kv_heads == 1 ? "mqa" : "gqa";
    if (a.window > 0) name += " window";
    if (a.chunk > 0) name += " chunked";
    if (a.shares_kv) name += " shared-kv";
    if (a.indexer) name += " sparse";
    if (a.memory > 0) name += " cross";
    return name;
}

std::vector<Tensor> tensors(const Indexer& indexer, std::int64_t hidden) {
    if (indexer.shared) return {};
    const std::int64_t inputs = indexer.query_inputs > 0 ? indexer.query_inputs : hidden;
    std::vector<Tensor> all;
    add_linear(all, "indexer.q", std::int64_t{indexer.heads} * indexer.dim, inputs, false, Role::attention,
               "indexer.q");
    add_linear(all, "indexer.k", indexer.dim, hidden, false, Role::attention, "indexer.k");
    if (indexer.weights) {
        add_linear(all, "indexer.weights", indexer.heads, hidden, false, Role::router, "indexer.weights");
        all.push_back({"indexer.k_norm", 2, indexer.dim, Role::norm, "", 1});
    }
    return all;
}

BytesPerToken kv_per_token(const Indexer& indexer) {
    if (indexer.shared) return {};
    const double scale_bytes = indexer.key_bits < 16 ? 4 : 0;
    return Bytes(indexer.dim * indexer.key_bits / 8.0 + scale_bytes) / token;
}

Operator scoring(const Indexer& indexer, const Batch& batch, const MixerContext& context) {
    Attention op;
    op.groups = batch.groups;
    op.heads = indexer.heads;
    op.kv_heads = 1;
    op.key_dim = indexer.dim;
    op.value_dim = 0;  // scores only
    op.kv_per_token = kv_per_token(indexer);
    op.compute = indexer.key_bits == 8 ? ElementType::fp8 : ElementType::bf16;
    op.activation = context.activation;
    return {"indexer", op, 1};
}

}  // namespace headroom
