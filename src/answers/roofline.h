// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "perf/step_time.h"

#include <string>
#include <vector>

namespace headroom {

/// One operator of a step, all its repetitions together.
struct RooflineRow {
    std::string name;
    double count = 1;
    Work work;          ///< times count
    OperatorTime time;  ///< times count
    ElementType compute = ElementType::bf16;
};

struct RooflineAnswer {
    Question question;
    std::string phase;  ///< "decode" or "prefill"
    std::int64_t batch = 1, tokens = 1;
    Peak peak;
    Intensity ridge;
    std::vector<RooflineRow> rows;
    StepTime step;
};

/// Every operator of one decode step (batch sequences at `tokens` of context) or of the prefill of a prompt
/// of `tokens`.
RooflineAnswer roofline(const Question& question, bool prefill, std::int64_t batch, std::int64_t tokens);

}  // namespace headroom
