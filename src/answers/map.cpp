// SPDX-License-Identifier: Apache-2.0
#include "answers/map.h"

#include "ops/step.h"

namespace headroom {

CandidatesAnswer map_candidates(const Question& question, bool prefill, std::int64_t batch,
                                std::int64_t tokens) {
    CandidatesAnswer a;
    a.question = question;
    a.prefill = prefill;
    a.batch = batch;
    a.tokens = tokens;
    const auto sequences = static_cast<double>(batch);
    const auto length = static_cast<double>(tokens);
    const Batch step = prefill ? prefill_batch(sequences, length) : decode_batch(sequences, length);
    const std::vector<Operator> operators = step_operators(shard(question.model, question.deployment), step);
    a.step_bytes = hbm_bytes(total_work(operators));
    a.candidates = fusion_candidates(operators, mapping_device(question.hardware));
    return a;
}

}  // namespace headroom
