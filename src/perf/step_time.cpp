// SPDX-License-Identifier: Apache-2.0
#include "perf/step_time.h"

#include <map>

namespace headroom {
namespace {

// Time that the host adds to a step, in the direction that an interval's end asks for.
Seconds host_time(const Engine& engine, double sequences, double Interval::*end) {
    return Seconds(engine.time.per_step.*end + sequences * (engine.time.per_sequence.*end));
}

}  // namespace

StepTime step_time(const Shard& shard, const Batch& batch, const Hardware& hardware, const Engine& engine) {
    StepTime step;
    double sequences = 0, fresh_most = 0;
    for (const SequenceGroup& g : batch.groups) {
        sequences += g.sequences;
        fresh_most = std::max(fresh_most, g.fresh);
    }
    const bool graph = engine.time.graphs && fresh_most <= 8;  // engines capture decode steps, not prompts
    Seconds floor_sum;
    std::map<ElementType, Flops> by_type;
    for (std::size_t s = 0; s < shard.stages.size(); ++s) {
        Seconds memory, compute, network;
        Seconds stage = host_time(engine, sequences, &Interval::expected);
        for (const Operator& op : step_operators(shard, s, batch)) {
            const OperatorTime t = operator_time(op, hardware, {.graph = graph});
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
        floor_sum += max(max(memory, compute), network);
        step.slowest_stage = max(step.slowest_stage, stage);
    }
    step.time.floor = floor_sum;
    step.time.low += host_time(engine, sequences, &Interval::low);
    step.time.expected += host_time(engine, sequences, &Interval::expected);
    step.time.high += host_time(engine, sequences, &Interval::high);
    step.time.low = max(step.time.low, step.time.floor);
    step.shares.overhead += host_time(engine, sequences, &Interval::expected);
    step.bound = largest(step.shares);
    Flops most;
    for (const auto& [type, flops] : by_type) {
        if (flops <= most) continue;
        most = flops;
        step.peak = dense_peak(hardware, type).value_or(Peak{}).rate;
    }
    return step;
}

}  // namespace headroom
