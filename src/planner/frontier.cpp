// SPDX-License-Identifier: Apache-2.0
#include "planner/plan.h"

#include <algorithm>

namespace headroom {

// Of the chosen device and precision: every deployment that fits, under every token budget, at several loads.
std::vector<FrontierPoint> frontier(const PlanInputs& in, const Candidate& best) {
    const Hardware& hardware = in.offers[best.decode.offer].hardware;
    const Model& model = in.variants[best.variant].model;
    const std::vector<std::int64_t> budgets =
        in.budgets.empty() ? std::vector{best.decode.budget} : in.budgets;
    std::vector<FrontierPoint> all;
    const auto add = [&](const Shard& part, Group g) {
        const Engine engine = engine_of(in, g);
        if (batch_limit(part, hardware, engine, in.load).sequences < 1) return;
        g.replicas = 1;
        g.sustainable = sustainable_rate(part, hardware, engine, in.load);
        for (const double utilisation : {0.05, 0.2, 0.4, 0.6, 0.8, 0.9}) {
            Load load = in.load;
            load.rate = utilisation * g.sustainable;
            g.state = steady_state(part, hardware, engine, load);
            const double tokens = load.rate.in(hertz)*load.output / gpus(g.deployment);
            all.push_back({g, utilisation, tokens, g.state.itl_tail, g.state.ttft_tail});
        }
    };
    for (const Deployment& d :
         in.deployments.empty() ? sensible_deployments(model, hardware) : in.deployments) {
        const Shard part = shard(model, d);
        for (const std::int64_t budget : budgets) add(part, {best.decode.offer, d, budget, 1, {}, {}});
    }
    std::stable_sort(all.begin(), all.end(), [](const FrontierPoint& a, const FrontierPoint& b) {
        return a.tokens_per_s_per_gpu > b.tokens_per_s_per_gpu;
    });
    std::vector<FrontierPoint> kept;
    for (const FrontierPoint& p : all) {
        if (kept.empty() || p.itl_tail < kept.back().itl_tail) kept.push_back(p);
    }
    return kept;
}

}  // namespace headroom
