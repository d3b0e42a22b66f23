// SPDX-License-Identifier: Apache-2.0
#include "memory/ledger.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

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
    Bytes sum;
    for (const KvLayers& part : kv) {
        double held = context;
        const double cap = static_cast<double>(part.law.cap);
        if (cap > 0 && engine.memory.window_admission) {
            // The window before a chunk, the chunk, and one block since a window seldom starts at a block's
            // edge.
            const double reach = cap - 1 + engine.scheduler.max_batched_tokens.value;
            held = reach < context ? whole_blocks(reach, block) + block : context;
        } else if (cap > 0) {
            held = std::min(context, cap);
        }
        sum += part.layers * (Tokens(whole_blocks(held, block)) * part.law.per_token + part.law.per_sequence);
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
        const Bytes block = Tokens(static_cast<double>(c.block_tokens)) * growth(c.kv);
        if (c.ledger.kv > Bytes{} && block > Bytes{}) {
            c.blocks = static_cast<std::int64_t>(std::floor(c.ledger.kv / block));
            c.capacity_tokens = c.blocks * c.block_tokens;
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
