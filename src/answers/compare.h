// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "ops/tensor.h"
#include "perf/step_time.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

/// One row: a question that differs from the others in one thing.
struct CompareRow {
    std::string name;  ///< of what differs
    Question question;
    std::string note;  ///< what the variant removes, or ""
    ParameterCount parameters;
    Bytes weights;               ///< of one GPU
    BytesPerToken kv_per_token;  ///< growth, of one GPU
    Bytes kv_per_sequence;       ///< at the context, of one GPU
    std::int64_t max_sequences = 0;
    std::int64_t batch = 0;      ///< that the step is timed at: the one asked for, or the largest that fits
    StepTime decode;             ///< meaningless where nothing fits
    std::string slower_kernels;  ///< of that step (answers/slower_kernels.h)
    Intensity ridge;
    double batch_to_saturate = 0;  ///< where the linear layers' intensity reaches the ridge
};

struct CompareAnswer {
    std::string axis;  ///< "attention", "model", "hw", "weights", "kv", "tp"
    std::int64_t context = 0;
    std::int64_t batch = 0;  ///< 0: the largest that fits
    std::vector<CompareRow> rows;
};

/// Fills a row's figures from its question.
CompareRow compare_row(std::string name, Question question, std::string note, std::int64_t context,
                       std::int64_t batch);

}  // namespace headroom
