// SPDX-License-Identifier: Apache-2.0
#include "planner/plan.h"

#include <algorithm>

namespace headroom {

std::vector<Deployment> sensible_deployments(const Model& model, const Hardware& hardware) {
    const int domain = hardware.scale_up && hardware.scale_up->domain
                           ? static_cast<int>(hardware.scale_up->domain->value)
                           : 8;
    const bool experts = std::any_of(model.kinds.begin(), model.kinds.end(), [](const Layer& layer) {
        return std::holds_alternative<MixtureOfExperts>(layer.feed_forward);
    });
    std::vector<Deployment> found;
    const auto add = [&](const Deployment& d) {
        if (deployment_faults(model, d).empty()) found.push_back(d);
    };
    for (int tp = 1; tp <= std::min(domain, 16); tp *= 2) {
        for (const int pp : {1, 2, 4}) add({.tp = tp, .pp = pp, .ep = 1, .dp = 1});
        if (experts && tp > 1) add({.tp = tp, .pp = 1, .ep = tp, .dp = 1});
    }
    if (experts) {
        for (int dp = 2; dp <= std::min(domain, 64); dp *= 2) add({.tp = 1, .pp = 1, .ep = dp, .dp = dp});
    }
    return found;
}

std::vector<std::int64_t> sensible_budgets(const Engine& engine, const Objectives& o) {
    const auto own = static_cast<std::int64_t>(engine.scheduler.max_batched_tokens.value);
    std::vector<std::int64_t> budgets{own};
    if (!engine.scheduler.chunked_prefill || !(o.itl || o.tpot || o.e2e)) return budgets;
    for (const std::int64_t less : {2048, 512}) {
        if (less < own) budgets.push_back(less);
    }
    return budgets;
}

Engine engine_of(const PlanInputs& in, const Group& g) {
    Engine engine = in.engine;
    if (g.budget > 0) engine.scheduler.max_batched_tokens.value = static_cast<double>(g.budget);
    return engine;
}

}  // namespace headroom
