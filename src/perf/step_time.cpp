// SPDX-License-Identifier: Apache-2.0
#include "perf/step_time.h"

#include "ops/speculation.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headroom {
namespace {

/// From this many new tokens on a sequence counts as a prompt, unless they are guesses.
constexpr double kPromptFrom = 9;

bool is_prompt(const SequenceGroup& g) { return !g.checks && g.fresh >= kPromptFrom; }

struct HostWork {
    double sequences = 0;
    double prompts = 0;
};

HostWork host_work(const Batch& batch) {
    HostWork work;
    for (const SequenceGroup& g : batch.groups) (is_prompt(g) ? work.prompts : work.sequences) += g.sequences;
    return work;
}

/// A step whose device part takes `device`, at one end of the host's intervals.
Seconds with_host(Seconds device, const HostWork& work, const EngineTime& time, double Interval::*end) {
    const double host = work.sequences * (time.per_sequence.*end) + work.prompts * (time.per_prompt.*end);
    const double n = time.overlap;
    const double busy =
        n == 1 ? device.base() + host : std::pow(std::pow(device.base(), n) + std::pow(host, n), 1 / n);
    return Seconds(time.per_step.*end + busy);
}

StepTime routed_step_time(const Shard& shard, const Batch& asked, const Hardware& hardware,
                          const Engine& engine) {
    StepTime step;
    const Batch batch = with_guesses(asked, shard);
    step.tokens = tokens_gained(shard);
    const HostWork host = host_work(batch);
    const bool graph = engine.time.graphs && host.prompts == 0;  // engines capture decode steps, not prompts
    Seconds floor_sum;
    std::map<ElementType, Flops> by_type;
    for (std::size_t s = 0; s < shard.stages.size(); ++s) {
        Seconds memory, compute, network;
        Seconds stage;
        for (const Operator& op : step_operators(shard, s, batch)) {
            const OperatorTime t =
                operator_time(op, hardware, {.graph = graph, .quantise = engine.time.quantise});
            memory += op.count * t.memory_floor;
            // Vector units may work beside the matrix units, so only the latter count towards the floor.
            if (!std::holds_alternative<Stream>(op.shape)) compute += op.count * t.compute_floor;
            network += op.count * t.network_floor;
            step.time += op.count * t.time;
            stage += op.count * t.time.expected;
            step.shares += op.count * t.shares;
            step.work += op.count * work(op);
            by_type[compute_type(op)] += op.count * work(op).flop;
        }
        // Stages follow each other; within one, memory, compute and links may work at the same time.
        const Seconds floor = max(max(memory, compute), network);
        floor_sum += floor;
        (floor == memory    ? step.floor_shares.memory
         : floor == compute ? step.floor_shares.compute
                            : step.floor_shares.network) += floor;
        step.slowest_stage =
            max(step.slowest_stage, with_host(stage, host, engine.time, &Interval::expected));
    }
    step.time.floor = floor_sum;
    const Seconds device = step.time.expected;
    step.time.low = with_host(step.time.low, host, engine.time, &Interval::low);
    step.time.expected = with_host(device, host, engine.time, &Interval::expected);
    step.time.high = with_host(step.time.high, host, engine.time, &Interval::high);
    step.time.low = max(step.time.low, step.time.floor);
    step.shares.overhead += step.time.expected - device;
    step.bound = largest(step.shares);
    step.floor_bound = largest(step.floor_shares);
    Flops most;
    for (const auto& [type, flops] : by_type) {
        if (flops <= most) continue;
        most = flops;
        step.peak = dense_peak(hardware, type).value_or(Peak{}).rate;
    }
    return step;
}

}  // namespace

StepTime step_time(const Shard& shard, const Batch& batch, const Hardware& hardware, const Engine& engine) {
    StepTime step = routed_step_time(shard, batch, hardware, engine);
    const auto routed = [](const Model& part) { return !(part.routing == Routing{}); };
    if (std::none_of(shard.stages.begin(), shard.stages.end(), routed)) return step;
    // How skewed a router is on other traffic is not known: the interval reaches to uniform routing.
    Shard uniform = shard;
    for (Model& part : uniform.stages) part.routing = {};
    const TimeEstimate even = routed_step_time(uniform, batch, hardware, engine).time;
    step.time.floor = min(step.time.floor, even.floor);
    step.time.low = min(step.time.low, even.low);
    step.time.high = max(step.time.high, even.high);
    return step;
}

Seconds with_host(Seconds device, const Batch& batch, const Engine& engine) {
    return with_host(device, host_work(batch), engine.time, &Interval::expected);
}

Engine without_host(Engine engine) {
    engine.time.per_step = engine.time.per_sequence = engine.time.per_prompt = {};
    return engine;
}

}  // namespace headroom
