// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "ops/tensor.h"
#include "planner/plan.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {
namespace {

std::string deployment_text(const Deployment& d) {
    std::string text = fmt::format("tp {} pp {}", d.tp, d.pp);
    if (d.ep > 1 || d.dp > 1) text += fmt::format(" ep {} dp {}", d.ep, d.dp);
    if (d.cp > 1) text += fmt::format(" cp {}", d.cp);
    return text;
}

// The fewest GPUs that hold the model and one sequence; 0 when no sensible deployment does.
Deployment smallest_fit(const PlanInputs& in, const Model& model, const Hardware& hardware) {
    Deployment best{.tp = 0};
    for (const Deployment& d : sensible_deployments(model, hardware)) {
        if (gpus(best) > 0 && gpus(best) <= gpus(d)) continue;
        if (batch_limit(shard(model, d), hardware, in.engine, in.load).sequences >= 1) best = d;
    }
    return best;
}

// What would have to change for anything to fit: the deployment, else the precision.
std::string change_that_fits(const PlanInputs& in) {
    const auto found = [&](const Model& model, const char* what) -> std::string {
        std::string text;
        int fewest = 0;
        for (const Offer& offer : in.offers) {
            const Deployment d = smallest_fit(in, model, offer.hardware);
            if (gpus(d) == 0 || (fewest > 0 && fewest <= gpus(d))) continue;
            fewest = gpus(d);
            text = fmt::format("; {} {}on {} would fit", deployment_text(d), what, offer.hardware.name);
        }
        return text;
    };
    for (const Variant& v : in.variants) {
        if (std::string text = found(v.model, ""); !text.empty()) return text;
    }
    for (const auto& [format, what] :
         {std::pair{"fp8", "with fp8 weights "}, {"int4", "with int4 weights "}}) {
        const Model less = with_weight_format(in.variants.front().model, *storage_format(format), false);
        if (std::string text = found(less, what); !text.empty()) return text;
    }
    return "";
}

std::string nothing_fits(const Plan& p, const PlanInputs& in) {
    const auto lacks = [&](const Candidate& c) {
        return c.needs - in.offers[c.decode.offer].hardware.memory.capacity.value;
    };
    const auto least =
        std::min_element(p.candidates.begin(), p.candidates.end(),
                         [&](const Candidate& a, const Candidate& b) { return lacks(a) < lacks(b); });
    const Hardware& hardware = in.offers[least->decode.offer].hardware;
    return fmt::format("nothing fits: the nearest, {} on {}, needs {} per GPU, which has {}",
                       deployment_text(least->decode.deployment), hardware.name, format_binary(least->needs),
                       format_binary(hardware.memory.capacity.value)) +
           change_that_fits(in);
}

std::string relaxed_text(const Nearest& nearest, const Objectives& o) {
    const double factor = nearest.reached / nearest.wanted;
    std::string text;
    for (const auto& [what, wanted] :
         {std::pair{"TTFT", &o.ttft}, {"ITL", &o.itl}, {"TPOT", &o.tpot}, {"end to end", &o.e2e}}) {
        if (*wanted)
            text += fmt::format("{}{} {} instead of {}", text.empty() ? "; with " : ", ", what,
                                format(factor * **wanted, 3), format(**wanted, 3));
    }
    return text + (nearest.gpus > 0 ? fmt::format(" {} GPUs would do", nearest.gpus)
                                    : " more GPUs than allowed would do");
}

// What the GPUs that are allowed carry, objectives aside.
std::string carried_text(const Plan& p, const PlanInputs& in, const Objectives& o) {
    Frequency most;
    for (const Candidate& c : p.candidates) {
        if (!c.fits || c.pruned || c.prefill) continue;
        const auto replicas = o.max_gpus / gpus(c.decode.deployment) - o.spare;
        most = max(most, std::max(0, replicas) * o.margin * c.decode.sustainable);
    }
    if (most <= Frequency{} || most >= in.load.rate) return "";
    return fmt::format("; {} GPUs carry {} requests/s", o.max_gpus, format_number(most.base(), 3));
}

}  // namespace

std::string reason_of(const Plan& p, const PlanInputs& in, const Objectives& o) {
    if (p.candidates.empty()) {
        if (!in.pools || in.together) return "no deployment of this model is possible on this device";
        return "no pair of pools meets the objectives, each in its role" +
               (p.nearest ? relaxed_text(*p.nearest, o) : change_that_fits(in));
    }
    if (std::none_of(p.candidates.begin(), p.candidates.end(), [](const Candidate& c) { return c.fits; }))
        return nothing_fits(p, in);
    const Candidate& first = p.candidates.front();
    const bool idle = first.decode.state.batch < 0.5;  // more replicas would not help
    std::string text = fmt::format(
        "nearest: {}{}{}: {}", first.pruned || idle ? "" : fmt::format("{} of ", first.decode.replicas),
        deployment_text(first.decode.deployment), idle && !first.pruned ? ", even idle" : "", first.why_not);
    if (p.verdict == Verdict::saturated) text += carried_text(p, in, o);
    if (p.nearest) text += relaxed_text(*p.nearest, o);
    return text;
}

}  // namespace headroom
