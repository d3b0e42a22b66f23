// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "planner/plan.h"
#include "spec/workload_summary.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

struct PlanQuestion {
    Question question;  ///< of the first device and the precision that was asked for
    std::vector<Variant> variants;
    std::vector<Offer> offers;
    WorkloadSummary workload;
    Objectives objectives;
    std::vector<Frequency> rates;         ///< one plan each; the first is the answer
    std::vector<Deployment> deployments;  ///< empty: all sensible ones
    std::vector<std::int64_t> budgets;    ///< tokens of a step; empty: the sensible ones
    bool together = true, pools = false;
    std::optional<Bandwidth> link;
    std::function<RequestSource()> requests;  ///< from the start; empty: not known one by one
    bool verify = true;                       ///< simulate the best candidates, where requests are known
    std::function<void(std::size_t, std::size_t)> progress;
};

/// The busiest stretch of the workload, from its own burstiness.
struct BusyStretch {
    Seconds window;
    Frequency rate;         ///< that 99 % of such windows do not exceed
    std::int64_t gpus = 0;  ///< of the chosen deployment, loaded up to its margin in that stretch
};

struct PlanAnswer {
    PlanQuestion asked;
    Load load;  ///< at the first rate
    Plan plan;
    std::vector<std::pair<Load, Plan>> growth;  ///< at the further rates
    std::optional<BusyStretch> peak;
    std::int64_t requests = 0;        ///< that were looked at one by one
    std::int64_t beyond_context = 0;  ///< of them longer than the model takes: engines refuse those
};

PlanAnswer plan(const PlanQuestion& question);

/// What a planner needs of a workload's statistics, at its own rate.
Load load_of(const WorkloadSummary& workload, double percentile);

}  // namespace headroom
