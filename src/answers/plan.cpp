// SPDX-License-Identifier: Apache-2.0
#include "answers/plan.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

// Counts in windows of a length scatter by dispersion x mean; 2.33 deviations at 99 %.
std::optional<BusyStretch> peak_of(const PlanQuestion& q, const Load& load, const Plan& p) {
    if (!p.best || q.workload.rate <= Frequency{}) return std::nullopt;
    const Dispersion* chosen = nullptr;
    for (const Dispersion& d : q.workload.dispersion) {
        if (d.windows >= 10 && d.window >= Seconds(10)) chosen = &d;
    }
    if (chosen == nullptr) return std::nullopt;
    const double mean = q.workload.rate * chosen->window;  // requests in a window, as it came
    const double most = mean + 2.33 * std::sqrt(chosen->index * mean);
    BusyStretch peak{chosen->window, load.rate * (most / mean), 0};
    const Candidate& c = p.candidates[*p.best];
    for (const Group* g : {&c.decode, c.prefill ? &*c.prefill : nullptr}) {
        if (g == nullptr) continue;
        const auto carrying = static_cast<std::int64_t>(
            std::ceil(peak.rate / (q.objectives.margin * g->sustainable) * (1 - 1e-9)));
        peak.gpus += (std::max(carrying, g->replicas) + q.objectives.spare) * gpus(g->deployment);
    }
    return peak;
}

void count_beyond_context(PlanAnswer& a) {
    const std::int64_t limit = a.asked.question.model.max_context;
    if (!a.asked.requests || limit <= 0) return;
    Request r;
    for (const RequestSource next = a.asked.requests(); next(r);) {
        ++a.requests;
        a.beyond_context += r.input_tokens + r.output_tokens > limit ? 1 : 0;
    }
}

}  // namespace

Load load_of(const WorkloadSummary& w, double percentile) {
    Load load;
    load.rate = w.rate;
    load.input = std::max(1.0, w.input_tokens.mean);
    load.output = std::max(1.0, w.output_tokens.mean);
    // Long outputs live longer and hold more, so this is above input + output / 2.
    load.context = w.live_sequences > 0 ? w.live_tokens / w.live_sequences : load.input + load.output / 2;
    load.input_cv = w.input_tokens.mean > 0 ? w.input_tokens.deviation / w.input_tokens.mean : 0;
    load.arrival_cv = w.interarrival_cv > 0 ? w.interarrival_cv : 1;
    load.inputs = w.input_tokens;
    load.outputs = w.output_tokens;
    load.percentile = percentile;
    return load;
}

PlanAnswer plan(const PlanQuestion& q) {
    PlanAnswer answer;
    answer.asked = q;
    count_beyond_context(answer);
    for (const Frequency& rate : q.rates) {
        PlanInputs in;
        in.variants = q.variants;
        in.offers = q.offers;
        in.engine = q.question.engine;
        in.load = load_of(q.workload, q.objectives.percentile);
        in.deployments = q.deployments;
        in.budgets = q.budgets.empty() ? sensible_budgets(in.engine, q.objectives) : q.budgets;
        in.together = q.together;
        in.pools = q.pools;
        in.link = q.link;
        in.progress = q.progress;
        if (q.workload.rate > Frequency{}) {
            if (q.verify) in.requests = q.requests;
            in.scale = rate / q.workload.rate;
        }
        in.load.rate = rate;
        Plan p = plan(in, q.objectives);
        if (&rate == &q.rates.front()) {
            answer.load = in.load;
            answer.plan = std::move(p);
            answer.peak = peak_of(q, answer.load, answer.plan);
        } else {
            answer.growth.emplace_back(in.load, std::move(p));
        }
    }
    return answer;
}

}  // namespace headroom
