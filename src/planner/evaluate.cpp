// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "planner/plan.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace headroom {
namespace {

Load per_replica(Load load, std::int64_t replicas) {
    load.rate /= static_cast<double>(replicas);
    return load;
}

// Bytes that the fullest GPU lacks for one sequence of the mean context.
Bytes needed(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load) {
    Bytes most;
    for (std::size_t s = 0; s < shard.stages.size(); ++s) {
        const Ledger l = ledger(shard, s, hardware, engine);
        most = max(most, (l.weights + l.activations + l.runtime +
                          admitted_bytes(kv_of(shard.stages[s]), engine, load.context)) /
                             engine.memory.utilisation.value);
    }
    return most;
}

// The floor of the smallest step already misses an objective: no number of replicas can help.
void prune(Candidate& c, const Shard& shard, const Hardware& hardware, const PlanInputs& in,
           const Objectives& o, PoolRole role) {
    const auto look = [&](const char* what, const std::optional<Seconds>& wanted, Seconds floor,
                          const char* of) {
        if (!wanted || floor <= *wanted || floor / *wanted <= c.floor_over) return;
        c.pruned = true;
        c.floor_over = floor / *wanted;
        c.why_not = fmt::format("{} cannot be below {}, the floor of {}", what, format(floor, 3), of);
    };
    Seconds decode, prefill;
    if (role != PoolRole::prefill && (o.itl || o.tpot || o.e2e))
        decode = step_time(shard, mixed_decode_batch(1, in.load.context), hardware, in.engine).time.floor;
    if (role != PoolRole::decode && (o.ttft || o.e2e)) {
        const double prompt = std::max(1.0, length_at(in.load.inputs, in.load.percentile));
        prefill = step_time(shard, prefill_batch(1, prompt), hardware, in.engine).time.floor;
    }
    look("ITL", o.itl, decode, "one decode step");
    look("TPOT", o.tpot, decode, "one decode step");
    look("TTFT", o.ttft, prefill, "the prefill");
    const double outputs = std::max(1.0, length_at(in.load.outputs, in.load.percentile));
    look("end to end", o.e2e, max(prefill, (outputs - 1) * decode), "all steps");
}

void copy_latencies(Candidate& c, PoolRole role) {
    const SteadyState& s = c.decode.state;
    c.utilisation = s.utilisation;
    c.ttft_mean = s.ttft_mean;
    c.ttft_tail = s.ttft_tail;
    c.itl_mean = s.itl_mean;
    c.itl_tail = s.itl_tail;
    c.tpot_tail = s.tpot_tail;
    c.e2e_tail = role == PoolRole::both ? s.e2e_tail : Seconds{};
}

}  // namespace

void set_totals(Candidate& c, const PlanInputs& in, const Objectives& o) {
    c.gpus = 0;
    c.cost = DollarRate{};
    c.power = Watts{};
    for (const Group* g : {&c.decode, c.prefill ? &*c.prefill : nullptr}) {
        if (g == nullptr) continue;
        const Offer& offer = in.offers[g->offer];
        const std::int64_t here = (g->replicas + o.spare) * gpus(g->deployment);
        c.gpus += here;
        if (offer.price && c.cost)
            *c.cost += static_cast<double>(here) * *offer.price;
        else
            c.cost.reset();
        if (offer.hardware.tdp && c.power)
            *c.power += static_cast<double>(here) * offer.hardware.tdp->value;
        else
            c.power.reset();
    }
}

std::string missed(const Candidate& c, const Objectives& o) {
    const auto above = [](const char* what, const std::optional<Seconds>& wanted,
                          Seconds value) -> std::string {
        if (!wanted || value <= *wanted) return "";
        return fmt::format("{} {} is above {}", what, format(value, 3), format(*wanted, 3));
    };
    std::string why = above("TTFT", o.ttft, c.ttft_tail);
    if (why.empty()) why = above("ITL", o.itl, c.itl_tail);
    if (why.empty()) why = above("TPOT", o.tpot, c.tpot_tail);
    if (why.empty()) why = above("end to end", o.e2e, c.e2e_tail);
    return why;
}

void set_replicas(Candidate& c, const PlanInputs& in, const Objectives& o, std::int64_t replicas) {
    c.decode.replicas = replicas;
    const Hardware& hardware = in.offers[c.decode.offer].hardware;
    const Shard part = shard(in.variants[c.variant].model, c.decode.deployment);
    c.decode.state =
        steady_state(part, hardware, engine_of(in, c.decode), per_replica(in.load, replicas), PoolRole::both);
    copy_latencies(c, PoolRole::both);
    set_totals(c, in, o);
}

Candidate evaluate(const PlanInputs& in, const Objectives& o, const Point& point, PoolRole role,
                   std::int64_t enough) {
    Candidate c;
    c.variant = point.variant;
    c.decode.offer = point.offer;
    c.decode.deployment = point.deployment;
    c.decode.budget = point.budget;
    const Engine engine = engine_of(in, c.decode);
    const Hardware& hardware = in.offers[point.offer].hardware;
    const Shard part = shard(in.variants[point.variant].model, point.deployment);
    if (batch_limit(part, hardware, engine, in.load, role).sequences < 1) {
        c.fits = false;
        c.needs = needed(part, hardware, engine, in.load);
        c.why_not = fmt::format("does not fit: needs {} per GPU", format_binary(c.needs));
        return c;
    }
    prune(c, part, hardware, in, o, role);
    if (c.pruned) return c;
    const auto look = [&](std::int64_t replicas) {
        c.decode.replicas = replicas;
        c.decode.state = steady_state(part, hardware, engine, per_replica(in.load, replicas), role);
        copy_latencies(c, role);
        c.why_not = missed(c, o);
        return c.why_not.empty();
    };
    c.decode.sustainable = sustainable_rate(part, hardware, engine, in.load, role);
    const auto least = std::max<std::int64_t>(
        1,
        static_cast<std::int64_t>(std::ceil(in.load.rate / (o.margin * c.decode.sustainable) * (1 - 1e-9))));
    const std::int64_t most =
        std::max<std::int64_t>(1, std::min<std::int64_t>(o.max_gpus, enough) / gpus(point.deployment));
    // Latency falls with every replica, so the fewest that meet the objectives are found by doubling and
    // bisection.
    std::int64_t low = least, high = least;
    bool met = look(high);
    while (!met && high < most) {
        low = high;
        high = std::min(most, 2 * high);
        met = look(high);
    }
    while (met && high - low > 1) {
        const std::int64_t middle = (low + high) / 2;
        (look(middle) ? high : low) = middle;
    }
    if (c.decode.replicas != high) look(high);
    set_totals(c, in, o);
    if (c.gpus > o.max_gpus) c.why_not = fmt::format("needs {} GPUs, {} are allowed", c.gpus, o.max_gpus);
    c.meets = c.why_not.empty() && !c.decode.state.saturated;
    return c;
}

}  // namespace headroom
