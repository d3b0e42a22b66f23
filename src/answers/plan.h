// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "planner/plan.h"
#include "spec/workload_summary.h"

#include <optional>
#include <string>

namespace headroom {

struct PlanAnswer {
    Question question;
    WorkloadSummary workload;
    Load load;  ///< after scaling
    Objectives objectives;
    Plan plan;
    std::optional<DollarRate> price;  ///< of one GPU
};

/// Plans for the workload's own rate times `scale`, or for `rate` where it is given.
PlanAnswer plan(const Question& question, const WorkloadSummary& workload, const Objectives& objectives,
                std::optional<Frequency> rate, double scale, std::optional<DollarRate> price,
                const std::vector<Deployment>& deployments);

/// What a planner needs of a workload's statistics, at its own rate.
Load load_of(const WorkloadSummary& workload, double percentile);

}  // namespace headroom
