// SPDX-License-Identifier: Apache-2.0
#include "answers/plan.h"

#include <algorithm>

namespace headroom {
Load load_of(const WorkloadSummary& w, double percentile) {
    Load load;
    load.rate = w.rate;
    load.input = std::max(1.0, w.input_tokens.mean);
    load.output = std::max(1.0, w.output_tokens.mean);
    // Long outputs live longer and hold more, so this is above input + output / 2.
    load.context = w.live_sequences > 0 ? w.live_tokens / w.live_sequences : load.input + load.output / 2;
    load.input_cv = w.input_tokens.mean > 0 ? w.input_tokens.deviation / w.input_tokens.mean : 0;
    load.inputs = w.input_tokens;
    load.percentile = percentile;
    return load;
}

PlanAnswer plan(const Question& q, const WorkloadSummary& workload, const Objectives& objectives,
                std::optional<Frequency> rate, double scale, std::optional<DollarRate> price,
                const std::vector<Deployment>& deployments) {
    PlanAnswer answer;
    answer.question = q;
    answer.workload = workload;
    answer.objectives = objectives;
    answer.price = price;
    answer.load = load_of(workload, objectives.percentile);
    answer.load.rate = scale * rate.value_or(answer.load.rate);
    answer.plan = plan({q.model, q.hardware, q.engine, answer.load, deployments}, objectives);
    return answer;
}

}  // namespace headroom
