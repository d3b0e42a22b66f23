// SPDX-License-Identifier: Apache-2.0
#include "planner/plan.h"

#include <algorithm>

namespace headroom {

// Of the chosen device, precision and token budget: every deployment that fits, at several loads.
std::vector<FrontierPoint> frontier(const PlanInputs& in, const Candidate& best) {
    const Hardware& hardware = in.offers[best.decode.offer].hardware;
    const Model& model = in.variants[best.variant].model;
    const Engine engine = engine_of(in, best.decode);
    std::vector<FrontierPoint> all;
    for (const Deployment& d :
         in.deployments.empty() ? sensible_deployments(model, hardware) : in.deployments) {
        const Shard part = shard(model, d);
        if (batch_limit(part, hardware, engine, in.load).sequences < 1) continue;
        const Frequency most = sustainable_rate(part, hardware, engine, in.load);
        for (const double utilisation : {0.05, 0.2, 0.4, 0.6, 0.8, 0.9}) {
            Load load = in.load;
            load.rate = utilisation * most;
            FrontierPoint p;
            p.group = {best.decode.offer,
                       d,
                       best.decode.budget,
                       1,
                       steady_state(part, hardware, engine, load),
                       most};
            p.utilisation = utilisation;
            p.tokens_per_s_per_gpu = load.rate.in(hertz)*load.output / gpus(d);
            p.itl_tail = p.group.state.itl_tail;
            p.ttft_tail = p.group.state.ttft_tail;
            all.push_back(p);
        }
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
