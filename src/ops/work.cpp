// SPDX-License-Identifier: Apache-2.0
#include "ops/work.h"

namespace headroom {
namespace {

Bytes width(ElementType type) { return Bytes(bits(type) / 8); }

}  // namespace

Work work(const Matmul& op) {
    // Y = X W: 2 m n k operations; every weight of a touched matrix is read once; X is read and Y written.
    Work w;
    w.flop = Flops(2 * op.rows * op.outputs * op.inputs);
    w.weights = op.groups * op.outputs * op.inputs * bytes_per_element(op.weights);
    w.activations = op.rows * (op.inputs + op.outputs) * width(op.activation);
    return w;
}

Work work(const Attention& op) {
    // Per visible pair: one dot product over key_dim and one update over value_dim. The cache is read once
    // per sequence, whatever the number of query heads that share it (GQA) and of fresh tokens (prefill, in
    // tiles).
    Work w;
    for (const SequenceGroup& g : op.groups) {
        const ChunkReach chunk = op.chunked ? chunk_reach(g, op.reach) : ChunkReach{};
        const double reach =
            op.scored_reach > 0 && (op.reach == 0 || op.scored_reach < op.reach) ? op.scored_reach : op.reach;
        const double pairs = op.chunked ? chunk.pairs : causal_pairs(g.past, g.fresh, reach);
        w.flop += Flops(2 * g.sequences * op.heads * (op.key_dim + op.value_dim) * pairs);
        // A window moves with the query: `fresh` queries read what the first one sees, and the fresh tokens.
        const double window = reach == 0 ? g.past + g.fresh : std::min(g.past + g.fresh, reach + g.fresh - 1);
        const double read = op.chunked ? chunk.read : window;
        w.kv += g.sequences * Tokens(read) * op.kv_per_token;
        if (op.stores_kv) w.kv_written += g.sequences * Tokens(g.fresh) * op.kv_per_token;
        w.activations +=
            g.sequences * g.fresh * op.heads * (op.key_dim + op.value_dim) * width(op.activation);
    }
    return w;
}

Work work(const Stream& op) { return op.work; }

Work work(const Collective&) { return {}; }

Work work(const Operator& op) {
    return std::visit([](const auto& shape) { return work(shape); }, op.shape);
}

Work total_work(const std::vector<Operator>& step) {
    Work sum;
    for (const Operator& op : step) sum += op.count * work(op);
    return sum;
}

Bytes link_bytes(const Collective& op) {
    if (op.gpus <= 1) return {};
    const double others = double(op.gpus - 1) / op.gpus;
    switch (op.kind) {
        case CollectiveKind::all_reduce:
            return 2 * others * op.bytes;
        case CollectiveKind::all_gather:
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::all_to_all:
            return others * op.bytes;
        case CollectiveKind::send:
            return op.bytes;
    }
    return {};
}

}  // namespace headroom
