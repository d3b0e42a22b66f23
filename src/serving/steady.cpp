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

    // Engines without chunked prefill run prompts in steps of their own, so that an iteration is a decode
    // step plus its share of a prefill step.
    StepTime iteration(double batch) const {
        const double ranks = shard_.deployment.dp;
        const double prompts = batch / load_.output / ranks;
        const StepTime decode = step_time(shard_, {{decoding(batch)}}, hardware_, engine_);
        if (prompts <= 0) return decode;
        if (!engine_.scheduler.chunked_prefill)
            return combine(1, decode, prompts,
                           step_time(shard_, prefill_batch(1, load_.input), hardware_, engine_));
        const double chunks = std::ceil(load_.input / budget(batch));
        const double share = std::min(1.0, prompts * chunks);
        const SequenceGroup chunk{.sequences = prompts * chunks / share,
                                  .fresh = load_.input / chunks,
                                  .past = load_.input * (1 - 1 / chunks) / 2};
        return combine(1 - share, decode, share,
                       step_time(shard_, {{decoding(batch), chunk}}, hardware_, engine_));
    }

    // With pipeline stages as many batches are in flight as there are stages: one iteration leaves the
    // slowest stage each of its times, and a sequence meets each iteration once per pass.
    Frequency throughput(double batch) const {
        return batch / (load_.output * iteration(batch).time.expected);
    }

    // Steps that decode `batch` sequences beside the `prompt` fresh tokens of one prompt, within the token
    // budget.
    TimeEstimate mixed(double batch, double prompt) const {
        const bool chunked = engine_.scheduler.chunked_prefill;
        const double chunks = chunked ? std::ceil(prompt / budget(batch)) : 1;
        if (prompt == 0) return step_time(shard_, {{decoding(batch)}}, hardware_, engine_).time;
        TimeEstimate sum;
        for (int i = 0; i < static_cast<int>(chunks); ++i) {
            const SequenceGroup chunk{.sequences = 1, .fresh = prompt / chunks, .past = i * prompt / chunks};
            const Batch step = chunked ? Batch{{decoding(batch), chunk}} : Batch{{chunk}};
            sum += step_time(shard_, step, hardware_, engine_).time;
        }
        return sum;
    }

    // The gap between tokens at the percentile. An iteration carries a prompt with probability batch / output
    // (times its chunks), so most gaps are plain steps and the tail is a step with a long prompt, cut to the
    // token budget.
    Seconds gap_tail(double batch) const {
        const double chunks = std::max(1.0, load_.input / budget(batch));
        const double with_prompt = std::min(1.0, batch / load_.output * chunks);
        const double beyond = 1 - load_.percentile;
        if (with_prompt <= beyond) return mixed(batch, 0).expected;
        const double length = length_at(load_.inputs, 1 - beyond / with_prompt);
        return mixed(batch, std::min(budget(batch), std::max(1.0, length))).expected;
    }

  private:
    SequenceGroup decoding(double batch) const {
        return {.sequences = batch / shard_.deployment.dp, .fresh = 1, .past = load_.context - 1};
    }

    // Prompt tokens that one step of a rank takes beside the decoding batch.
    double budget(double batch) const {
        return std::max(1.0, engine_.scheduler.max_batched_tokens.value - batch / shard_.deployment.dp);
    }

    static StepTime combine(double a, const StepTime& x, double b, const StepTime& y) {
        StepTime sum = x;
        sum.time = a * x.time;
        sum.time += b * y.time;
        sum.shares = a * x.shares;
        sum.shares += b * y.shares;
        sum.work = a * x.work;
        sum.work += b * y.work;
        sum.slowest_stage = a * x.slowest_stage + b * y.slowest_stage;
        sum.bound = largest(sum.shares);
        return sum;
    }

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

StepTime mean_iteration(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load,
                        double batch) {
    return Loop(shard, hardware, engine, load).iteration(batch);
}

TimeEstimate prompt_time(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load,
                         double batch, double prompt) {
    return Loop(shard, hardware, engine, load).mixed(batch, prompt);
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
    const Seconds alone = loop.mixed(s.batch, load.input).expected;
    const Seconds wait = 0.5 * s.iteration + prompt_wait(load.rate, alone, load.input_cv);
    const Seconds fixed(engine.time.per_request.expected);
    s.ttft_mean = fixed + wait + alone;
    // The tail of the wait is close to exponential; the tail of the prompt's own length comes on top.
    s.ttft_tail = fixed + std::log(1 / (1 - load.percentile)) * wait +
                  loop.mixed(s.batch, std::max(1.0, length_at(load.inputs, load.percentile))).expected;
    return s;
}

}  // namespace headroom
