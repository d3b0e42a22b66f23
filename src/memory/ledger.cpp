// SPDX-License-Identifier: Apache-2.0
#include "memory/ledger.h"

#include "memory/held_weights.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace headroom {
namespace {

// The widest feed-forward layer of a part, for the activation peak.
double widest_feed_forward(const Model& part) {
    double widest = 0;
    for (const Layer& layer : part.kinds) {
        if (const auto* dense = std::get_if<DenseFeedForward>(&layer.feed_forward)) {
            widest = std::max(widest, static_cast<double>(dense->intermediate));
        }
        if (const auto* moe = std::get_if<MixtureOfExperts>(&layer.feed_forward)) {
            widest = std::max(widest,
                              static_cast<double>(moe->intermediate * moe->top_k + moe->shared_intermediate));
        }
    }
    return widest;
}

// Logits are gathered on every GPU, so their part is not cut by tensor parallelism.
Bytes activation_peak(const Shard& shard, std::size_t stage, const Engine& engine) {
    if (engine.memory.activation_peak) return engine.memory.activation_peak->value;
    const Model& part = shard.stages[stage];
    const double logits = !part.head
                              ? 0
                              : engine.memory.logits_copies.value * engine.scheduler.max_sequences.value *
                                    static_cast<double>(shard.vocabulary) * 4;
    const double width = 2 * static_cast<double>(part.hidden) + 2 * widest_feed_forward(part);
    return Bytes(logits +
                 engine.memory.token_factor.value * engine.scheduler.max_batched_tokens.value * width * 2);
}

Bytes runtime_bytes(const Engine& engine, const Hardware& hardware, int tp) {
    if (tp > 1 && !hardware.scale_up && engine.memory.runtime_without_link)
        return engine.memory.runtime_without_link->value;
    Bytes found;
    for (const auto& [degree, bytes] : engine.memory.runtime_by_tp) {
        if (degree <= tp) found = bytes.value;
    }
    return found;
}

double whole_blocks(double tokens, double block) { return std::ceil(tokens / block) * block; }

/// Tokens whose blocks a layer with this window or chunk holds while a sequence of `context` tokens runs.
double held_tokens(std::int64_t window, bool chunked, double block, const Engine& engine, double context) {
    if (window == 0) return context;
    const double cap = static_cast<double>(window);
    if (!engine.memory.window_admission) return std::min(context, cap);
    const double step = engine.scheduler.max_batched_tokens.value;
    // Chunked local attention: its own chunk and the tokens of a step; chunks start at a block's edge.
    if (chunked) return whole_blocks(std::min(cap + step, context), block);
    // The window before a step's tokens, these, and one block since a window seldom starts at a block's edge.
    return whole_blocks(std::min(cap - 1 + step, context), block) + block;
}

/// Bytes that one token adds while no window is full.
BytesPerToken all_tokens(const ModelKv& kv) {
    BytesPerToken sum;
    for (const KvLayers& part : kv) sum += part.layers * part.law.per_token;
    return sum;
}

bool mixed_layers(const ModelKv& kv) {
    std::set<std::pair<std::int64_t, bool>> kinds;
    for (const KvLayers& part : kv) {
        if (part.law.per_token > BytesPerToken{} || part.law.per_sequence > Bytes{})
            kinds.emplace(part.law.cap, part.law.per_token > BytesPerToken{});
    }
    return kinds.size() > 1;
}

}  // namespace

PageLayout engine_layout(const ModelKv& kv, const Engine& engine) {
    const auto block = static_cast<std::int64_t>(engine.memory.block_tokens.value);
    if (engine.memory.window_admission && mixed_layers(kv)) return page_layout(kv, block);
    PageLayout one;
    one.block = block;
    one.groups.push_back({.block = block});
    const Bytes page = Tokens(static_cast<double>(block)) * (mixed_layers(kv) ? growth(kv) : all_tokens(kv));
    one.page = static_cast<std::int64_t>(page.base());
    return one;
}

Ledger ledger(const Shard& shard, std::size_t stage, const Hardware& hardware, const Engine& engine) {
    Ledger l;
    l.device = hardware.memory.capacity.value;
    l.usable = engine.memory.utilisation.value * l.device;
    const HeldWeights held = held_weights(shard, stage, hardware, engine);
    l.padding = padding(held);
    l.weights = held.stored + l.padding;
    l.activations = activation_peak(shard, stage, engine);
    l.runtime = runtime_bytes(engine, hardware, shard.deployment.tp);
    const Bytes used = l.weights + l.activations + l.runtime;
    l.kv = l.usable - used;
    if (engine.memory.of_free) {
        const Bytes left = l.device - used;
        l.kv = left > Bytes{} ? engine.memory.utilisation.value * left : left;
        l.usable = used + l.kv;
    }
    return l;
}

Bytes admitted_bytes(const ModelKv& kv, const Engine& engine, double context) {
    const double block = engine.memory.block_tokens.value;
    Bytes sum;
    if (engine.memory.window_admission && mixed_layers(kv)) {
        const PageLayout layout = engine_layout(kv, engine);
        for (const PageGroup& group : layout.groups) {
            const auto page_tokens = static_cast<double>(group.block);
            const double tokens = held_tokens(group.window, group.chunked, page_tokens, engine, context);
            const double pages = group.token > 0 ? std::ceil(tokens / page_tokens)
                                                 : static_cast<double>(fixed_pages(layout, group));
            sum += pages * Bytes(static_cast<double>(layout.page));
        }
        return sum;
    }
    for (const KvLayers& part : kv) {
        const double tokens =
            whole_blocks(held_tokens(part.law.cap, part.law.chunked, block, engine, context), block);
        sum += part.layers * (Tokens(tokens) * part.law.per_token + part.law.per_sequence);
    }
    return sum;
}

Capacity capacity(const Shard& shard, const Hardware& hardware, const Engine& engine, double context) {
    Capacity tightest;
    for (std::size_t s = 0; s < shard.stages.size(); ++s) {
        Capacity c;
        c.ledger = ledger(shard, s, hardware, engine);
        c.kv = kv_of(shard.stages[s]);
        c.block_tokens = static_cast<std::int64_t>(engine.memory.block_tokens.value);
        c.per_sequence = admitted_bytes(c.kv, engine, context);
        const PageLayout layout = engine_layout(c.kv, engine);
        c.groups = static_cast<int>(layout.groups.size());
        c.block_tokens = layout.block;
        c.block_bytes = Bytes(static_cast<double>(layout.page));
        // Rounding guard: a cache that holds n blocks or sequences exactly must say n.
        if (c.ledger.kv > Bytes{} && layout.page > 0) {
            c.blocks = static_cast<std::int64_t>(std::floor(c.ledger.kv / c.block_bytes * (1 + 1e-12)));
            c.capacity_tokens = c.blocks / c.groups * c.block_tokens;
        }
        if (c.ledger.kv > Bytes{} && c.per_sequence > Bytes{}) {
            c.max_sequences =
                static_cast<std::int64_t>(std::floor(c.ledger.kv / c.per_sequence * (1 + 1e-12)));
            c.max_sequences *= shard.deployment.dp;
        }
        if (s == 0 || c.max_sequences < tightest.max_sequences) tightest = std::move(c);
    }
    return tightest;
}

}  // namespace headroom
