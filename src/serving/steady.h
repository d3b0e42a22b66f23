// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/ledger.h"
#include "perf/step_time.h"
#include "serving/role.h"
#include "spec/workload_summary.h"

#include <string>

namespace headroom {

/// What arrives at one replica.
struct Load {
    Frequency rate;         ///< requests per second
    double input = 1;       ///< mean tokens of a prompt
    double output = 1;      ///< mean tokens generated
    double context = 1;     ///< mean tokens that a live sequence holds, weighted by how long it lives
    double input_cv = 0;    ///< standard deviation over mean of the prompt's length
    double arrival_cv = 1;  ///< the same of the gaps between arrivals: 1 for independent ones
    LengthSummary inputs;   ///< how lengths are spread, for the tails
    LengthSummary outputs;
    double percentile = 0.99;
};

/// The length that a share `percentile` of requests does not exceed, between the percentiles that a summary
/// keeps.
double length_at(const LengthSummary& lengths, double percentile);

/// What stops a replica from carrying more.
enum class Binding { memory_bandwidth, compute, network, overhead, kv_capacity, scheduler };
std::string to_string(Binding binding);
Binding binding_of(Bound bound);  ///< of a step, where a step binds

/// A replica under continuous batching in equilibrium. An iteration decodes `batch` sequences and prefills
/// the prompts that replace the finished ones: batch / output requests, so batch * input / output prompt
/// tokens. A replica of a prefill pool only runs prompts (its `batch` is prompts in one step), one of a
/// decode pool only decodes.
struct SteadyState {
    bool saturated = false;  ///< the load is above `sustainable`: no latency is given then
    Frequency sustainable;   ///< requests per second at the largest batch
    double batch_limit = 0;
    Binding binding = Binding::memory_bandwidth;  ///< at the largest batch
    double batch = 0;                             ///< mean sequences decoding, from Little's law
    Seconds iteration;                            ///< from one token of a sequence to the next, on average
    double utilisation = 0;                       ///< rate over sustainable
    Seconds ttft_mean, ttft_tail;
    Seconds itl_mean, itl_tail;
    Seconds tpot_tail;
    Seconds e2e_mean, e2e_tail;
};

/// Requires a deployment that fits at least one sequence. Formulas: docs/model.md, "Steady state". A prefill
/// replica has no ITL, a decode replica no TTFT; the rest of theirs is zero.
SteadyState steady_state(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load,
                         PoolRole role = PoolRole::both);

/// Requests per second at the largest batch.
Frequency sustainable_rate(const Shard& shard, const Hardware& hardware, const Engine& engine,
                           const Load& load, PoolRole role = PoolRole::both);

/// The mean iteration of a replica that decodes `batch` sequences, per token of a sequence. Of the iterations
/// a share carries a chunk of a prompt beside the decoding batch: batch / output prompts begin in each, cut
/// by the token budget.
StepTime mean_iteration(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load,
                        double batch);

/// The two kinds of iteration that `mean_iteration` averages, for a replica of one pipeline stage whose
/// engine chunks prompts: (1 - share) of them are `plain`. Neither depends on the host's times.
struct IterationBatches {
    Batch plain;        ///< the decoding sequences of one rank
    Batch with_prompt;  ///< and a chunk of a prompt, or more where several come in each iteration
    double share = 0;   ///< of iterations with a prompt
};
IterationBatches iteration_batches(const Shard& shard, const Hardware& hardware, const Engine& engine,
                                   const Load& load, double batch);

/// Time from the start of a prompt's first chunk to its first token, beside `batch` decoding sequences.
TimeEstimate prompt_time(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load,
                         double batch, double prompt);

/// What a prompt's steps take beyond its kernels (`EngineTime::prompt_stretch`, `per_expert_layer`).
Seconds beyond_kernels(const Shard& shard, const Hardware& hardware, const Engine& engine, double prompt);

/// The largest batch that memory and scheduler allow at the load's mean context, and which of them it is.
struct BatchLimit {
    double sequences = 0;
    Binding by = Binding::kv_capacity;
};
BatchLimit batch_limit(const Shard& shard, const Hardware& hardware, const Engine& engine, const Load& load,
                       PoolRole role = PoolRole::both);

}  // namespace headroom
