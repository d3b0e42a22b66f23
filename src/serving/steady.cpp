// SPDX-License-Identifier: Apache-2.0
#include "serving/steady.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

// One replica's loop; sequences are of the whole replica, a step is of one data-parallel rank.
class Loop {
  public:
    Loop(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load)
        : shard_(shard), hardware_(hardware), engine_(engine), load_(load) {}

    // The mean iteration that decodes `batch` sequences. Engines without chunked prefill run prompts in steps
    // of their own, so that an iteration is a decode step plus its share of a prefill step.
    StepTime iteration(double batch) const {
        const double ranks = shard_.deployment.dp;
        const SequenceGroup decode{.sequences = batch / ranks, .fresh = 1, .past = load_.context - 1};
        const SequenceGroup prompts{
            .sequences = batch / load_.output / ranks, .fresh = load_.input, .past = 0};
        if (engine_.scheduler.chunked_prefill)
            return step_time(shard_, {{decode, prompts}}, hardware_, engine_);
        StepTime step = step_time(shard_, {{decode}}, hardware_, engine_);
        const StepTime prefill = step_time(shard_, prefill_batch(1, load_.input), hardware_, engine_);
        step.time += prompts.sequences * prefill.time;
        step.shares += prompts.sequences * prefill.shares;
        step.slowest_stage += prompts.sequences * prefill.slowest_stage;
        step.bound = largest(step.shares);
        return step;
    }

    // With pipeline stages as many batches are in flight as there are stages: one iteration leaves the
    // slowest stage each of its times, and a sequence meets each iteration once per pass.
    Frequency throughput(double batch) const {
        return batch / (load_.output * iteration(batch).time.expected);
    }

    // A step that decodes `batch` sequences beside `prompt` fresh tokens of one prompt, within the token
    // budget.
    Seconds mixed(double batch, double prompt) const {
        const double ranks = shard_.deployment.dp;
        const double budget = std::max(1.0, engine_.scheduler.max_batched_tokens.value - batch / ranks);
        const SequenceGroup decode{.sequences = batch / ranks, .fresh = 1, .past = load_.context - 1};
        if (prompt == 0) return step_time(shard_, {{decode}}, hardware_, engine_).time.expected;
        Seconds sum;
        for (double past = 0; past < prompt; past += budget) {
            const SequenceGroup chunk{.sequences = 1, .fresh = std::min(budget, prompt - past), .past = past};
            sum += step_time(shard_, {{decode, chunk}}, hardware_, engine_).time.expected;
            if (!engine_.scheduler.chunked_prefill) break;
        }
        return sum;
    }

    // The gap between tokens at the percentile. An iteration carries a prompt with probability batch / output
    // (times its chunks), so most gaps are plain steps and the tail is a step with a long prompt, cut to the
    // token budget.
    Seconds gap_tail(double batch) const {
        const double budget =
            std::max(1.0, engine_.scheduler.max_batched_tokens.value - batch / shard_.deployment.dp);
        const double chunks = std::max(1.0, load_.input / budget);
        const double with_prompt = std::min(1.0, batch / load_.output * chunks);
        const double beyond = 1 - load_.percentile;
        if (with_prompt <= beyond) return mixed(batch, 0);
        const double length = length_at(load_.inputs, 1 - beyond / with_prompt);
        return mixed(batch, std::min(budget, std::max(1.0, length)));
    }

  private:
    const Shard& shard_;
    const Hardware& hardware_;
    const Engine& engine_;
    const Load& load_;
};

Binding from_bound(Bound bound) {
    switch (bound) {
        case Bound::memory:
            return Binding::memory_bandwidth;
        case Bound::compute:
            return Binding::compute;
        case Bound::network:
            return Binding::network;
        case Bound::overhead:
            return Binding::overhead;
    }
    return Binding::memory_bandwidth;
}

// More sequences would still raise the rate by this much per doubling where the batch limit itself is what
// binds.
constexpr double kStillRising = 1.10;

// Mean wait of a prompt for the prompts before it (M/G/1, Pollaczek-Khinchine): rho S (1 + cv^2) / (2 (1 -
// rho)).
Seconds prompt_wait(Frequency rate, Seconds service, double cv) {
    const double rho = std::min(0.999, rate * service);
    return rho * (1 + cv * cv) / (2 * (1 - rho)) * service;
}

}  // namespace

double length_at(const LengthSummary& lengths, double percentile) {
    const std::pair<double, double> known[] = {
        {0.5, lengths.p50}, {0.9, lengths.p90}, {0.99, lengths.p99}, {1.0, lengths.max}};
    for (std::size_t i = 0; i + 1 < std::size(known); ++i) {
        const auto& [p, value] = known[i];
        const auto& [next_p, next] = known[i + 1];
        if (percentile <= next_p)
            return value + (next - value) * std::max(0.0, percentile - p) / (next_p - p);
    }
    return lengths.max;
}

std::string to_string(Binding binding) {
    switch (binding) {
        case Binding::memory_bandwidth:
            return "memory bandwidth";
        case Binding::compute:
            return "compute";
        case Binding::network:
            return "network";
        case Binding::overhead:
            return "launch and host overhead";
        case Binding::kv_capacity:
            return "KV capacity";
        case Binding::scheduler:
            return "scheduler";
    }
    return "";
}

BatchLimit batch_limit(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load) {
    const double ranks = shard.deployment.dp;
    const double kv =
        static_cast<double>(capacity(shard, hardware, engine, std::ceil(load.context)).max_sequences);
    // An iteration carries batch * (1 + input / output) tokens per rank, at most the budget.
    const double budget = engine.scheduler.max_batched_tokens.value * ranks;
    const double tokens_each = engine.scheduler.chunked_prefill ? 1 + load.input / load.output : 1;
    const double scheduler = std::min(engine.scheduler.max_sequences.value, budget / tokens_each);
    if (kv <= scheduler) return {kv, Binding::kv_capacity};
    return {scheduler, Binding::scheduler};
}

SteadyState steady_state(const Shard& shard, const Hardware& hardware, const Engine& engine,
                         const Load& load) {
    const Loop loop(shard, hardware, engine, load);
    SteadyState s;
    const BatchLimit limit = batch_limit(shard, hardware, engine, load);
    s.batch_limit = limit.sequences;
    s.sustainable = loop.throughput(s.batch_limit);
    const bool rising = loop.throughput(2 * s.batch_limit) > kStillRising * s.sustainable;
    s.binding = rising ? limit.by : from_bound(loop.iteration(s.batch_limit).bound);
    s.utilisation = load.rate / s.sustainable;
    s.saturated = s.utilisation >= 1;
    if (s.saturated) return s;
    // Little's law: batch = rate * output * iteration(batch). The throughput rises with the batch, so bisect.
    double low = 0, high = s.batch_limit;
    for (int i = 0; i < 50; ++i) {
        const double middle = (low + high) / 2;
        (loop.throughput(middle) < load.rate ? low : high) = middle;
    }
    s.batch = high;
    s.step = loop.iteration(s.batch);
    s.iteration = s.itl_mean = s.step.time.expected;
    s.itl_tail = max(s.itl_mean, loop.gap_tail(s.batch));
    // A prompt waits for half an iteration and for the prompts before it, then runs beside the decoding
    // batch.
    const Seconds alone = loop.mixed(s.batch, load.input);
    const Seconds wait = 0.5 * s.iteration + prompt_wait(load.rate, alone, load.input_cv);
    const Seconds fixed(engine.time.per_request.expected);
    s.ttft_mean = fixed + wait + alone;
    // The tail of the wait is close to exponential; the tail of the prompt's own length comes on top.
    s.ttft_tail = fixed + std::log(1 / (1 - load.percentile)) * wait +
                  loop.mixed(s.batch, std::max(1.0, length_at(load.inputs, load.percentile)));
    return s;
}

}  // namespace headroom
