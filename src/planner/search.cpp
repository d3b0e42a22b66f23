// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "planner/plan.h"
#include "planner/relief.h"

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
Bytes needed(const Shard& shard, const PlanInputs& in) {
    Bytes most;
    for (std::size_t s = 0; s < shard.stages.size(); ++s) {
        const Ledger l = ledger(shard, s, in.hardware, in.engine);
        most = max(most, (l.weights + l.activations + l.runtime +
                          admitted_bytes(kv_of(shard.stages[s]), in.engine, in.load.context)) /
                             in.engine.memory.utilisation.value);
    }
    return most;
}

// The floor of the smallest step already misses the objective: no number of replicas can help.
std::string floor_misses(const Shard& shard, const PlanInputs& in, const Objectives& o) {
    const Seconds decode =
        step_time(shard, decode_batch(1, in.load.context), in.hardware, in.engine).time.floor;
    if (o.itl && decode > *o.itl)
        return fmt::format("ITL cannot be below {}, the floor of one decode step", format(decode, 3));
    const Seconds prefill =
        step_time(shard, prefill_batch(1, std::max(1.0, length_at(in.load.inputs, o.percentile))),
                  in.hardware, in.engine)
            .time.floor;
    if (o.ttft && prefill > *o.ttft)
        return fmt::format("TTFT cannot be below {}, the floor of the prefill", format(prefill, 3));
    return "";
}

std::string misses(const SteadyState& s, const Objectives& o) {
    if (o.ttft && s.ttft_tail > *o.ttft)
        return fmt::format("TTFT {} is above {}", format(s.ttft_tail, 3), format(*o.ttft, 3));
    if (o.itl && s.itl_tail > *o.itl)
        return fmt::format("ITL {} is above {}", format(s.itl_tail, 3), format(*o.itl, 3));
    return "";
}

// Fewest replicas that carry the load within the objectives: more replicas mean smaller batches and shorter
// steps.
Candidate evaluate(const PlanInputs& in, const Objectives& o, const Deployment& deployment) {
    Candidate c;
    c.deployment = deployment;
    const Shard part = shard(in.model, deployment);
    if (batch_limit(part, in.hardware, in.engine, in.load).sequences < 1) {
        c.fits = false;
        c.needs = needed(part, in);
        c.why_not = fmt::format("does not fit: needs {} per GPU", format_binary(c.needs));
        return c;
    }
    c.sustainable = steady_state(part, in.hardware, in.engine, per_replica(in.load, 1)).sustainable;
    c.why_not = floor_misses(part, in, o);
    c.replicas = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::ceil(in.load.rate / (o.margin * c.sustainable))));
    const auto at = [&](std::int64_t replicas) {
        return steady_state(part, in.hardware, in.engine, per_replica(in.load, replicas));
    };
    c.state = at(c.replicas);
    c.gpus = c.replicas * gpus(deployment);
    if (!c.why_not.empty()) return c;
    c.why_not = misses(c.state, o);
    const std::int64_t most = o.max_gpus / gpus(deployment);
    // Latency falls with every replica, so the fewest that meet the objectives are found by doubling and
    // bisection.
    std::int64_t low = c.replicas, high = c.replicas;
    while (!c.why_not.empty() && high < most) {
        low = high;
        high = std::min(most, 2 * high);
        c.state = at(high);
        c.why_not = misses(c.state, o);
    }
    while (c.why_not.empty() && high - low > 1) {
        const std::int64_t middle = (low + high) / 2;
        const SteadyState state = at(middle);
        if (misses(state, o).empty())
            high = middle, c.state = state;
        else
            low = middle;
    }
    c.replicas = high;
    c.gpus = high * gpus(deployment);
    c.meets = c.why_not.empty() && c.gpus <= o.max_gpus && !c.state.saturated;
    if (c.gpus > o.max_gpus) c.why_not = fmt::format("needs {} GPUs, {} are allowed", c.gpus, o.max_gpus);
    return c;
}

bool better(const Candidate& a, const Candidate& b) {
    if (a.meets != b.meets) return a.meets;
    if (a.fits != b.fits) return a.fits;
    if (a.gpus != b.gpus) return a.gpus < b.gpus;
    return a.state.itl_mean < b.state.itl_mean;
}

std::string reason_of(const Plan& p) {
    const auto fits =
        std::find_if(p.candidates.begin(), p.candidates.end(), [](const Candidate& c) { return c.fits; });
    if (p.candidates.empty()) return "no deployment of this model is possible on this device";
    if (fits == p.candidates.end()) {
        const auto least =
            std::min_element(p.candidates.begin(), p.candidates.end(),
                             [](const Candidate& a, const Candidate& b) { return a.needs < b.needs; });
        return fmt::format("nothing fits: the nearest, tp {} pp {}, needs {} per GPU", least->deployment.tp,
                           least->deployment.pp, format_binary(least->needs));
    }
    return fmt::format("nearest: {} replicas of tp {} pp {}: {}", fits->replicas, fits->deployment.tp,
                       fits->deployment.pp, fits->why_not);
}

}  // namespace

std::string to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::ok:
            return "ok";
        case Verdict::saturated:
            return "saturated";
        case Verdict::infeasible:
            return "infeasible";
    }
    return "";
}

Plan plan(const PlanInputs& in, const Objectives& o) {
    Plan p;
    for (const Deployment& d :
         in.deployments.empty() ? sensible_deployments(in.model, in.hardware) : in.deployments) {
        p.candidates.push_back(evaluate(in, o, d));
    }
    std::stable_sort(p.candidates.begin(), p.candidates.end(), better);
    if (!p.candidates.empty() && p.candidates.front().meets) {
        p.verdict = Verdict::ok;
        p.best = 0;
        p.relief = relief(in, p.candidates.front());
        return p;
    }
    const bool too_many = std::any_of(p.candidates.begin(), p.candidates.end(),
                                      [&](const Candidate& c) { return c.fits && c.gpus > o.max_gpus; });
    p.verdict = too_many ? Verdict::saturated : Verdict::infeasible;
    p.reason = reason_of(p);
    return p;
}

}  // namespace headroom
