// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "perf/step_time.h"

#include <cstdint>
#include <vector>

namespace headroom {

/// Experts of one layer and one GPU whose weights a step reads: means over the layers that have experts.
struct TouchedExperts {
    double touched = 0;
    double uniform = 0;  ///< were the routing uniform
    double held = 0;     ///< 0: the model has none
};

/// One decode step of a batch, and the prefill of one prompt.
struct Prediction {
    std::int64_t batch = 1;    ///< sequences of the whole replica
    std::int64_t context = 1;  ///< tokens that each attends to, the new one included
    std::int64_t prompt = 1;
    std::int64_t beside = 0;  ///< prompt tokens that the decode step carries beside the sequences
    StepTime decode;
    StepTime prefill;  ///< of one prompt alone, in chunks where the engine cuts it
    std::int64_t prefill_chunks = 1;
    double weight_intensity = 0;  ///< 2 P B over the bytes of P, FLOP per byte: the batch, at 16 bits
    std::int64_t batch_that_fits = 0;
    TouchedExperts experts;  ///< by the decode step
};

struct PredictAnswer {
    Question question;
    Intensity ridge;
    Peak peak;
    std::vector<Prediction> results;
    std::string slower_kernels;  ///< of the largest batch at the longest context (answers/slower_kernels.h)
};

/// Every combination of the lists, in their order. Does not refuse a batch that does not fit: it says how
/// many would.
/// `beside`: tokens of a prompt's first chunk that run in the decode step, as under chunked prefill.
PredictAnswer predict(const Question& question, const std::vector<std::int64_t>& batches,
                      const std::vector<std::int64_t>& contexts, const std::vector<std::int64_t>& prompts,
                      std::int64_t beside = 0);

/// Tokens per second of the whole batch: both the step's time and the tokens gained are intervals.
struct RateInterval {
    double low = 0, expected = 0, high = 0, floor = 0;
};
RateInterval token_rate(const Prediction& prediction);

/// The prefill of one prompt, in chunks of the engine's token budget where it chunks.
StepTime prefill_time(const Shard& shard, double prompt, const Hardware& hardware, const Engine& engine);

TouchedExperts touched_experts(const Shard& shard, double tokens_per_rank);

/// FLOP of the linear layers per byte of their weights at batch 1: 2 P over the bytes of P.
double weight_intensity(const Model& model);

}  // namespace headroom
