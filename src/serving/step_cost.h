// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "perf/step_time.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace headroom {

/// Part of a prompt that runs in one step, after `past` tokens of it that are in the cache already.
struct PromptChunk {
    std::int64_t fresh = 0;
    std::int64_t past = 0;
    bool last = true;  ///< the prompt ends with it, so that its first token is sampled
};

/// One step of a replica (or of one of its pipeline's batches), all data-parallel ranks together.
struct StepShape {
    std::int64_t decodes = 0;         ///< sequences that generate one token each
    std::int64_t decode_context = 0;  ///< tokens that they attend to, the new ones included, added up
    std::vector<PromptChunk> chunks;
};

/// The batch of the busiest data-parallel rank, as the step model takes it.
Batch batch_of(const StepShape& shape, int ranks);

struct StepCost {
    double latency = 0;  ///< expected seconds, all stages passed
    double slowest = 0;  ///< of them in the slowest stage
};

/// The step model made fast enough for millions of steps of one model, device and engine.
///
/// Steps of at most `kExactSequences` sequences are computed exactly, each shape once, until `kExactSteps`
/// shapes were. The device part of all others is put together from values on grids, each computed when it is
/// first needed and interpolated linearly; the host's time comes on top as far as it does not overlap:
///   without prompts  D(n, c): n sequences that decode at the mean context c
///   with chunks      L(n, F) + A(n, c) + sum over chunks of C(f, p) - (groups - 1) shared launches
/// L is all but attention with F prompt tokens in the step, A and C the attention of decoding sequences and
/// of a chunk of f tokens after p. Against the exact step the error is below 1 % on average and 8 % at most
/// (tests/physics/step_cost_test.cpp).
class StepCosts {
  public:
    static constexpr std::int64_t kExactSequences = 4;
    static constexpr std::size_t kExactSteps = 1500;

    /// `contiguous`: the cache is not in blocks, so attention is not slowed by the block table. The kernel
    /// models are fitted to kernels that read through one.
    StepCosts(const Shard& shard, const Hardware& hardware, const Engine& engine, bool contiguous = false);

    /// Per token that a decoding sequence gains; of the whole step where none decodes.
    StepCost operator()(const StepShape& shape);
    /// Of the whole step, never interpolated.
    StepCost exact(const StepShape& shape) const;
    std::size_t evaluations() const { return evaluations_; }

  private:
    struct Cell;  // an axis position: lower node and weight of the upper one
    StepCost whole_step(const StepShape& shape);
    StepCost device(const Batch& batch) const;
    StepCost with_host_of(const Batch& batch, StepCost device) const;
    StepCost interpolate(const StepShape& shape);
    StepCost attention(const Batch& batch) const;
    StepCost products(double sequences, double fresh, bool samples);
    template <class Evaluate>
    StepCost between(int table, Cell x, Cell y, const Evaluate& evaluate);

    const Shard& shard_;
    const Hardware& hardware_;
    const Engine& engine_;
    Engine bare_;  // without the host: the grids hold device times, which add up
    std::unordered_map<std::uint64_t, StepCost> nodes_, exact_;
    double gained_;  // tokens per step and sequence
    StepCost shared_launch_;
    double saved_ = 0;  // share of attention
    mutable std::size_t evaluations_ = 0;
};

}  // namespace headroom
