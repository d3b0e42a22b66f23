// SPDX-License-Identifier: Apache-2.0
#include "memory/ledger.h"

#include <algorithm>
#include <cmath>
#include <map>

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
    const Model& part = shard.stages[stage];
    const double logits = engine.memory.logits_copies.value * engine.scheduler.max_sequences.value *
                          static_cast<double>(shard.vocabulary) * 4;
    const double width = 2 * static_cast<double>(part.hidden) + 2 * widest_feed_forward(part);
    return Bytes(logits +
                 engine.memory.token_factor.value * engine.scheduler.max_batched_tokens.value * width * 2);
}

Bytes runtime_bytes(const Engine& engine, int tp) {
    Bytes found;
    for (const auto& [degree, bytes] : engine.memory.runtime_by_tp) {
        if (degree <= tp) found = bytes.value;
    }
    return found;
}

double whole_blocks(double tokens, double block) { return std::ceil(tokens / block) * block; }

/// Tokens whose blocks a layer of this law holds while a sequence of `context` tokens runs.
double held_tokens(const KvLaw& law, const Engine& engine, double context) {
    const double cap = static_cast<double>(law.cap);
    if (cap == 0) return context;
    if (!engine.memory.window_admission) return std::min(context, cap);
    // The window before a chunk, the chunk, and one block since a window seldom starts at a block's edge.
    const double block = engine.memory.block_tokens.value;
    const double reach = cap - 1 + engine.scheduler.max_batched_tokens.value;
    return whole_blocks(std::min(reach, context), block) + block;
}

}  // namespace

BlockPool block_pool(const ModelKv& kv, const Engine& engine) {
    std::map<std::int64_t, int> layers;  // that grow, by window
    BytesPerToken widest;
    for (const KvLayers& part : kv) {
        if (part.law.per_token <= BytesPerToken{}) continue;
        layers[part.law.cap] += part.layers;
        widest = max(widest, part.law.per_token);
    }
    BlockPool pool;
    const Tokens tokens(engine.memory.block_tokens.value);
    if (layers.empty()) return pool;
    if (!engine.memory.window_admission || layers.size() == 1) {
        for (const auto& [cap, count] : layers) pool.group_layers += count;
        for (const KvLayers& part : kv) {
            if (part.law.cap == 0 || layers.size() == 1)
                pool.block += part.layers * (tokens * part.law.per_token);
        }
        return pool;
    }
    pool.group_layers = std::min_element(layers.begin(), layers.end(), [](const auto& a, const auto& b) {
                            return a.second < b.second;
                        })->second;
    pool.groups = 0;
    for (const auto& [cap, count] : layers)
        pool.groups += (count + pool.group_layers - 1) / pool.group_layers;
    pool.block = pool.group_layers * (tokens * widest);
    return pool;
}

Ledger ledger(const Shard& shard, std::size_t stage, const Hardware& hardware, const Engine& engine) {
    Ledger l;
    l.device = hardware.memory.capacity.value;
    l.usable = engine.memory.utilisation.value * l.device;
    l.weights = stage_weight_bytes(shard, stage);
    l.activations = activation_peak(shard, stage, engine);
    l.runtime = runtime_bytes(engine, shard.deployment.tp);
    l.kv = l.usable - l.weights - l.activations - l.runtime;
    return l;
}

Bytes admitted_bytes(const ModelKv& kv, const Engine& engine, double context) {
    const double block = engine.memory.block_tokens.value;
    const BlockPool pool = block_pool(kv, engine);
    Bytes sum;
    for (const KvLayers& part : kv) {
        sum += part.layers * part.law.per_sequence;
        const double tokens = whole_blocks(held_tokens(part.law, engine, context), block);
        if (pool.groups == 1) sum += part.layers * (Tokens(tokens) * part.law.per_token);
    }
    if (pool.groups == 1) return sum;
    std::map<std::int64_t, int> layers;
    for (const KvLayers& part : kv) layers[part.law.cap] += part.layers;
    for (const auto& [cap, count] : layers) {
        const double tokens = whole_blocks(held_tokens({.cap = cap}, engine, context), block);
        const int groups = (count + pool.group_layers - 1) / pool.group_layers;
        sum += groups * (tokens / block) * pool.block;
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
        const BlockPool pool = block_pool(c.kv, engine);
        c.groups = pool.groups;
        if (c.ledger.kv > Bytes{} && pool.block > Bytes{}) {
            c.blocks = static_cast<std::int64_t>(std::floor(c.ledger.kv / pool.block));
            c.capacity_tokens = c.blocks / pool.groups * c.block_tokens;
        }
        if (c.ledger.kv > Bytes{} && c.per_sequence > Bytes{}) {
            // Rounding guard: a cache that holds n sequences exactly must say n.
            c.max_sequences =
                static_cast<std::int64_t>(std::floor(c.ledger.kv / c.per_sequence * (1 + 1e-12)));
            c.max_sequences *= shard.deployment.dp;
        }
        if (s == 0 || c.max_sequences < tightest.max_sequences) tightest = std::move(c);
    }
    return tightest;
}

}  // namespace headroom
