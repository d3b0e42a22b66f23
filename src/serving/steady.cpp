// SPDX-License-Identifier: Apache-2.0
#include "serving/steady.h"

#include "ops/speculation.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace headroom {
namespace {

// One replica's loop; sequences are of the whole replica, a step is of one data-parallel rank and of one of
// the batches that the pipeline stages work on at the same time.
class Loop {
  public:
    Loop(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load, PoolRole role)
        : shard_(shard),
          hardware_(hardware),
          engine_(engine),
          load_(load),
          role_(role),
          gained_(role == PoolRole::prefill ? Interval{1, 1, 1, ""} : tokens_gained(shard)) {
        const auto& speculation = shard.stages.back().speculation;
        if (speculation) width_ += speculation->guesses;
    }

    struct Step {
        Seconds time;    // from a batch's begin to its next
        Seconds spread;  // mean square over mean: twice what an arrival waits for the end of its step
        Seconds held;    // of `time`, behind the other lanes' batches
        StepTime model;  // `time` with its interval
    };

    // The mean step while `batch` sequences decode. Prompts do not come evenly: with less than one chunk per
    // step, most steps carry none and a few carry one.
    Step iteration(double batch) const {
        const double n = role_ == PoolRole::prefill ? 0 : batch;
        const double lanes = lanes_of(batch);
        if (role_ == PoolRole::decode) return even(once(n, 0, 0), lanes);
        const Chunks c = chunks(n, load_.input);
        const double each = per_step(batch) * c.count;
        const StepTime with = once(n, std::max(1.0, each), c.fresh, c.past);
        if (role_ == PoolRole::prefill) return even(with, lanes);
        const StepTime plain = once(n, 0, 0);
        const double share = std::min(1.0, each);
        return uneven(plain, combine(1 - share, plain, share, with), each, each * c.fresh / budget(batch),
                      lanes);
    }

    // Requests that a batch ends, and so prompts that begin, per step and rank.
    double per_step(double batch) const {
        const double lanes = lanes_of(batch);
        if (role_ == PoolRole::prefill) return batch / lanes / shard_.deployment.dp;
        return gained_.expected * batch / lanes / load_.output / shard_.deployment.dp;
    }

    Frequency throughput(double batch) const {
        const double tokens = role_ == PoolRole::prefill  ? 1
                              : role_ == PoolRole::decode ? std::max(1.0, load_.output - 1)
                                                          : load_.output;
        return gained_.expected * batch / (tokens * iteration(batch).time);
    }

    IterationBatches batches(double batch) const {
        const Chunks c = chunks(batch, load_.input);
        const double each = per_step(batch) * c.count;
        return {mixed(batch, 0, 0, 0), mixed(batch, std::max(1.0, each), c.fresh, c.past),
                std::min(1.0, each)};
    }

    // A prompt of `tokens`, beside the decoding sequences, to its last chunk: its kernels, or its steps.
    TimeEstimate prompt(double batch, double tokens, bool kernels = true) const {
        const double n = role_ == PoolRole::prefill || !engine_.scheduler.chunked_prefill ? 0 : batch;
        const Chunks c = chunks(n, tokens);
        const TimeEstimate step = step_time(shard_, mixed(n, 1, c.fresh, c.past), hardware_, engine_).time;
        return c.count * (kernels ? step : issued(step));
    }

    Seconds beyond_kernels(double tokens) const {
        return prompt(0, tokens, false).expected - prompt(0, tokens).expected;
    }

    // The gap between tokens at the percentile: with few prompts per step the tail is a step with one long
    // prompt, with many it is a step with more of them than on average.
    Seconds gap_tail(double batch) const {
        const double beyond = 1 - load_.percentile;
        // Between two tokens of a sequence all lanes make a step, and a long one holds up the others.
        const double each = role_ == PoolRole::decode
                                ? 0
                                : lanes_of(batch) * per_step(batch) * chunks(batch, load_.input).count;
        const double with_prompt = 1 - std::exp(-each);
        if (with_prompt <= beyond) return even(once(batch, 0, 0), lanes_of(batch)).time;
        const double one = length_at(load_.inputs, 1 - beyond / with_prompt);
        // A sum of a random number of prompts, as a normal variable; 2.33 deviations at 0.99.
        const double deviations = std::sqrt(2 * std::log(1 / beyond)) - 0.7;
        const double many =
            load_.input * (each + deviations * std::sqrt(each * (1 + load_.input_cv * load_.input_cv)));
        const double tokens = std::clamp(std::max(one, many), 1.0, budget(batch));
        return even(once(batch, 1, tokens), lanes_of(batch)).time;
    }

    // Prompt tokens per second at most, and the steps that they run in.
    double prompt_rate(double batch) const {
        const double room = budget(role_ == PoolRole::prefill ? 0 : batch);
        const double prompts = std::max(1.0, room / load_.input);
        const double n = role_ == PoolRole::prefill ? 0 : batch;
        const Step full = even(once(n, prompts, room / prompts), lanes_of(batch));
        return room * shard_.deployment.dp * lanes_of(batch) / full.time.in(second);
    }

    // The mean step, per token that a sequence gains in it.
    StepTime per_token(double batch) const {
        StepTime t = iteration(batch).model;
        t.time = {t.time.floor / gained_.high, t.time.low / gained_.high, t.time.expected / gained_.expected,
                  t.time.high / gained_.low};
        return t;
    }

    double lanes_of(double batch) const {
        return std::min<double>(shard_.deployment.pp, std::max(1.0, batch));
    }

  private:
    struct Chunks {
        double count, fresh, past;
    };

    // A step that carries a prompt runs outside a graph.
    TimeEstimate issued(TimeEstimate t) const {
        double layers = 0;
        for (const Model& part : shard_.stages) {
            for (const int kind : part.layout)
                layers += std::holds_alternative<MixtureOfExperts>(
                    part.kinds[static_cast<std::size_t>(kind)].feed_forward);
        }
        const Seconds host(layers * engine_.time.per_expert_layer);
        const double stretch = engine_.time.prompt_stretch;
        return {t.floor, t.low, max(stretch * t.expected, host), max(stretch * t.high, host)};
    }

    double budget(double batch) const {
        const double decodes = width_ * batch / lanes_of(batch) / shard_.deployment.dp;
        return std::max(1.0, engine_.scheduler.max_batched_tokens.value - decodes);
    }

    // A prompt in equal chunks, each with the mean past of all.
    Chunks chunks(double batch, double tokens) const {
        const double count =
            engine_.scheduler.chunked_prefill ? std::ceil(tokens / budget(batch) * (1 - 1e-9)) : 1;
        // Long prompts have more than their share of query-key pairs: the mean of squared lengths counts.
        const double squares = tokens == load_.input ? 1 + load_.input_cv * load_.input_cv : 1;
        return {count, tokens / count, (tokens * squares - tokens / count) / 2};
    }

    Batch mixed(double batch, double prompts, double fresh, double past) const {
        Batch b;
        const double n = batch / lanes_of(batch) / shard_.deployment.dp;
        if (n > 0)
            b.groups.push_back(
                {.sequences = n, .fresh = 1, .past = std::max(0.0, load_.context - 1), .mixed = true});
        if (prompts > 0 && fresh > 0)
            b.groups.push_back({.sequences = prompts, .fresh = fresh, .past = past});
        return b;
    }

    // All stages passed through once. Engines that do not chunk run prompts in steps of their own, between
    // the decoding ones.
    StepTime once(double batch, double prompts, double fresh, double past = 0) const {
        const auto run = [&](const Batch& b) { return step_time(shard_, b, hardware_, engine_); };
        if (engine_.scheduler.chunked_prefill || prompts <= 0 || batch <= 0)
            return run(mixed(batch, prompts, fresh, past));
        return combine(1, run(mixed(batch, 0, 0, 0)), 1, run(mixed(0, prompts, fresh, past)));
    }

    // Lanes follow each other through the stages: a batch comes back when it has passed all of them, and not
    // before the slowest stage has served every lane.
    Step even(const StepTime& t, double lanes) const {
        const Seconds time = max(t.time.expected, lanes > 1 ? lanes * t.slowest_stage : Seconds{});
        return {time, time, time - t.time.expected, longer(t, time)};
    }

    // What prompts add to steps comes in lumps, random in number and length: long steps with probability q.
    Step uneven(const StepTime& plain, const StepTime& mean, double each, double full, double lanes) const {
        const double lumps = 1 + load_.input_cv * load_.input_cv;
        const double share = (mean.time.expected - plain.time.expected) / mean.time.expected;
        const double squares = each > 0 ? 1 + share * share * lumps / each : 1;
        Step step = even(mean, lanes);
        if (lanes > 1 && each > 0) {
            const double q = std::max(each / (each + lumps), std::min(1.0, full));
            step.time = max(step.time, lanes * ring(plain, mean, q, lanes));
        }
        return {step.time, squares * step.time, step.time - mean.time.expected, longer(mean, step.time)};
    }

    // Time between the batches of a ring of lanes, t. A long step holds up those behind it in every stage.
    // The ring turns as fast as the longest path through steps and stages allows: along the slowest stage (s0
    // a short step, s1 a long one), and from time to time through all stages of a long step (d), after which
    // it passes over lanes - 1 steps, short ones where it can. Prompts come while a long step runs, so n
    // other long ones follow close behind it, n = (lanes - 1) min(1, q d / (lanes t)), and (1 + n) / q steps
    // belong to such a cluster.
    Seconds ring(const StepTime& plain, const StepTime& mean, double q, double lanes) const {
        const auto of_long = [&](Seconds all, Seconds shorter) {
            return (shorter + (all - shorter) / q).in(second);
        };
        const double s0 = plain.slowest_stage.in(second);
        const double s1 = of_long(mean.slowest_stage, plain.slowest_stage);
        const double d = of_long(mean.time.expected, plain.time.expected);
        double t = mean.slowest_stage.in(second);
        for (int i = 0; i < 30; ++i) {
            const double n = (lanes - 1) * std::min(1.0, q * d / (lanes * t));
            const double shorts = (1 + n) * (1 / q - 1), passed = std::min(lanes - 1, shorts);
            const double longs = n - (lanes - 1 - passed);
            const double next = (d + longs * s1 + (shorts - passed) * s0) * q / (1 + n);
            if (std::abs(next - t) < 1e-9 * t) break;
            t = (t + next) / 2;
        }
        return Seconds(t);
    }

    static StepTime longer(StepTime t, Seconds time) {
        const double factor = time / t.time.expected;
        t.time = {t.time.floor, factor * t.time.low, time, factor * t.time.high};
        return t;
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
        sum.floor_shares = a * x.floor_shares;
        sum.floor_shares += b * y.floor_shares;
        sum.floor_bound = largest(sum.floor_shares);
        return sum;
    }

    const Shard& shard_;
    const Hardware& hardware_;
    const Engine& engine_;
    const Load& load_;
    PoolRole role_;
    Interval gained_;   // tokens of a sequence per step
    double width_ = 1;  // tokens of a decoding sequence in a step: one, and its guesses
};

// More sequences would still raise the rate by this much per doubling where the batch limit itself is what
// binds.
constexpr double kStillRising = 1.10;

// Mean wait for earlier work in a queue with one server (Kingman; Pollaczek-Khinchine when ca = 1):
// rho / (1 - rho) (ca^2 + cs^2) / 2 service.
Seconds queue_wait(double rho, Seconds service, double ca, double cs) {
    return rho / (1 - rho) * (ca * ca + cs * cs) / 2 * service;
}

// Percentiles of independent parts do not add up; what they exceed their means by does, in squares, nearly.
Seconds tail_of_sum(Seconds mean, std::initializer_list<Seconds> excesses) {
    double squares = 0;
    for (const Seconds e : excesses) squares += e.in(second)*e.in(second);
    return mean + Seconds(std::sqrt(squares));
}

// Little's law: batch = rate x output x time per token. The throughput rises with the batch; false position
// with halved weights (Illinois).
double batch_at(const Loop& loop, Frequency rate, double limit) {
    const auto excess = [&](double batch) { return (loop.throughput(batch) - rate).in(hertz); };
    double low = 0, high = limit;
    double below = -rate.in(hertz), above = excess(high);
    if (above <= 0) return high;
    for (int i = 0; i < 40 && high - low > 1e-4 * high; ++i) {
        const double next = std::clamp(low + (high - low) * below / (below - above), 1e-9, limit);
        const double e = excess(next);
        if (std::abs(e) < 1e-5 * rate.in(hertz)) return next;
        if (e < 0) {
            low = next;
            below = e;
            above /= 2;
        } else {
            high = next;
            above = e;
            below /= 2;
        }
    }
    return high;
}

constexpr double kBusiest = 0.995;  // a queue is not looked at any closer to its limit

void set_first_token(SteadyState& s, const Loop& loop, const Engine& engine, const Load& load) {
    const Loop::Step iteration = loop.iteration(s.batch);
    const Seconds fixed(engine.time.per_request.expected);
    // The prompt's own step also carries those that came with it.
    const double beside = load.rate * iteration.time / loop.lanes_of(s.batch);
    const Seconds own = loop.prompt(s.batch, load.input * (1 + std::min(beside, 4.0))).expected;
    // An idle replica begins at once.
    const Seconds residual = std::min(1.0, s.batch) * 0.5 * iteration.spread / loop.lanes_of(s.batch);
    const double prompts_per_s = loop.prompt_rate(s.batch) / load.input;
    const double rho = std::min(kBusiest, load.rate.in(hertz) / prompts_per_s);
    const Seconds queue = queue_wait(rho, Seconds(1 / prompts_per_s), load.arrival_cv, load.input_cv);
    const Seconds late = loop.beyond_kernels(load.input);
    s.ttft_mean = fixed + residual + queue + own + late + iteration.held;
    // The wait is zero for 1 - rho of the prompts and close to exponential for the others.
    const double beyond = 1 - load.percentile;
    const Seconds queue_tail = rho > beyond ? std::log(rho / beyond) / rho * queue : Seconds{};
    const double longest = std::max(load.input, length_at(load.inputs, load.percentile));
    const Seconds long_own = loop.prompt(s.batch, longest).expected + loop.beyond_kernels(longest) - late;
    s.ttft_tail = tail_of_sum(s.ttft_mean,
                              {residual, max(Seconds{}, queue_tail - queue), max(Seconds{}, long_own - own)});
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

BatchLimit batch_limit(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load,
                       PoolRole role) {
    const double ranks = shard.deployment.dp;
    const double lanes = shard.deployment.pp;
    const double budget = engine.scheduler.max_batched_tokens.value * ranks * lanes;
    const double held = role == PoolRole::prefill ? load.input : load.context;
    const double kv = static_cast<double>(capacity(shard, hardware, engine, std::ceil(held)).max_sequences);
    if (role == PoolRole::prefill)
        return {std::min(kv, std::max(ranks, budget / load.input)), Binding::scheduler};
    // A step carries batch * (1 + input / output) tokens per rank and lane, at most the budget.
    const double prompts = role == PoolRole::both && engine.scheduler.chunked_prefill;
    const double scheduler =
        std::min(engine.scheduler.max_sequences.value, budget / (1 + prompts * load.input / load.output));
    if (kv <= scheduler) return {kv, Binding::kv_capacity};
    return {scheduler, Binding::scheduler};
}

Frequency sustainable_rate(const Shard& shard, const Hardware& hardware, const Engine& engine,
                           const Load& load, PoolRole role) {
    const double limit = batch_limit(shard, hardware, engine, load, role).sequences;
    return Loop(shard, hardware, engine, load, role).throughput(limit);
}

StepTime mean_iteration(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load,
                        double batch) {
    return Loop(shard, hardware, engine, load, PoolRole::both).per_token(batch);
}

IterationBatches iteration_batches(const Shard& shard, const Hardware& hardware, const Engine& engine,
                                   const Load& load, double batch) {
    return Loop(shard, hardware, engine, load, PoolRole::both).batches(batch);
}

TimeEstimate prompt_time(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load,
                         double batch, double prompt) {
    return Loop(shard, hardware, engine, load, PoolRole::both).prompt(batch, prompt, false);
}

Seconds beyond_kernels(const Shard& shard, const Hardware& hardware, const Engine& engine, double prompt) {
    Load load;
    load.input = prompt;
    return Loop(shard, hardware, engine, load, PoolRole::both).beyond_kernels(prompt);
}

SteadyState steady_state(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load,
                         PoolRole role) {
    const Loop loop(shard, hardware, engine, load, role);
    SteadyState s;
    const BatchLimit limit = batch_limit(shard, hardware, engine, load, role);
    s.batch_limit = limit.sequences;
    s.sustainable = loop.throughput(s.batch_limit);
    const bool rising = loop.throughput(2 * s.batch_limit) > kStillRising * s.sustainable;
    s.binding = rising ? limit.by : binding_of(loop.iteration(s.batch_limit).model.bound);
    s.utilisation = load.rate / s.sustainable;
    s.saturated = s.utilisation >= 1;
    if (s.saturated) return s;
    s.batch = batch_at(loop, load.rate, s.batch_limit);
    s.iteration = loop.per_token(s.batch).time.expected;
    if (role != PoolRole::decode) set_first_token(s, loop, engine, load);
    if (role == PoolRole::prefill) return s;
    s.itl_mean = s.iteration;
    s.itl_tail = max(s.itl_mean, loop.gap_tail(s.batch));
    // The mean of many gaps is spread less than one of them.
    s.tpot_tail = s.itl_mean + (s.itl_tail - s.itl_mean) / std::sqrt(std::max(1.0, load.output - 1));
    s.e2e_mean = s.ttft_mean + std::max(0.0, load.output - 1) * s.itl_mean;
    const double longest = std::max(load.output, length_at(load.outputs, load.percentile));
    s.e2e_tail = tail_of_sum(s.e2e_mean, {s.ttft_tail - s.ttft_mean, (longest - load.output) * s.itl_mean});
    return s;
}

}  // namespace headroom
