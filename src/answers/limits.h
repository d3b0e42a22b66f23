// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "memory/ledger.h"
#include "memory/waste.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// The batch that fits under one allocation policy.
struct PolicyLimit {
    Policy policy = Policy::paged;
    std::int64_t max_sequences = 0;  ///< of the whole deployment
};

struct Limit {
    std::int64_t context = 0;
    std::int64_t max_sequences = 0;     ///< of the whole deployment
    Bytes bytes_per_sequence;           ///< on one GPU, as the engine sets them aside
    std::vector<PolicyLimit> policies;  ///< what fragmentation makes of it; empty when not asked
};

/// The change that makes a model fit: its command line, and what one GPU then needs.
struct NearestFit {
    std::string change;
    Deployment deployment;
    Bytes needs;
};

/// One GPU of a pipeline stage.
struct StageShare {
    int layers = 0;
    Bytes weights;
    Bytes kv;  ///< left for KV; below zero: missing
    BytesPerToken kv_per_token;
};

struct LimitsAnswer {
    Question question;
    Capacity capacity;  ///< at the first context
    std::vector<Limit> results;
    std::vector<StageShare> stages;  ///< in order; the tightest decides the capacity
    bool fits = true;                ///< one sequence of the first context fits
    Bytes needs;  ///< per GPU, for one sequence of the first context: device bytes that would do
    std::optional<NearestFit> nearest;  ///< when it does not fit
};

/// `policies` are compared at each context; those that reserve do so for the longest context of the model
/// (or the longest asked, when the model names none or less).
LimitsAnswer limits(const Question& question, const std::vector<std::int64_t>& contexts,
                    const std::vector<Policy>& policies = {});

/// Device bytes that one sequence of `context` tokens needs on the fullest GPU under this engine.
Bytes bytes_needed(const Question& question, const Deployment& deployment, double context);

/// The fewest GPUs by tensor, then pipeline parallelism, on which one sequence fits; up to 64 of them.
std::optional<NearestFit> nearest_fit(const Question& question, double context);

}  // namespace headroom
