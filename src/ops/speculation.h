// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/shard.h"
#include "ops/work.h"
#include "spec/interval.h"

#include <string>
#include <vector>

namespace headroom {

/// Tokens that a sequence gains per step when `guesses` tokens are guessed and each is right with probability
/// `accept` if those before it were: the sum of accept^i from 0 to guesses.
constexpr double tokens_gained(int guesses, double accept) {
    double sum = 1, all_right = 1;
    for (int i = 0; i < guesses; ++i) sum += all_right *= accept;
    return sum;
}

/// Of a sharded model or a whole one; 1 where it does not speculate.
Interval tokens_gained(const Model& model);
Interval tokens_gained(const Shard& shard);

/// The model's prediction layers as a draft: one of them, run once per guess, between its embedding and head.
/// Requires that the model has some.
Model prediction_draft(const Model& model);

/// Why this draft cannot guess for this model under this deployment, or "".
std::string speculation_fault(const Model& model, const Deployment& deployment);

/// How the draft is spread: over the GPUs of the last stage.
Deployment draft_deployment(const Model& draft, const Deployment& deployment);

/// The batch as it runs: sequences that decode carry their guesses to be checked.
Batch with_guesses(Batch batch, const Shard& shard);

/// What guessing adds to the last stage: a pass of the draft per guess of the sequences that decode, and one
/// over the fresh tokens of prompts, whose cache the draft needs too.
std::vector<Operator> draft_operators(const Shard& shard, const Batch& batch);

/// What the draft keeps on one GPU of the last stage; nothing where there is none.
Bytes draft_weight_bytes(const Model& part);

}  // namespace headroom
