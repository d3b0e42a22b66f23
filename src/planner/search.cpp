// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "planner/plan.h"
#include "planner/relief.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr int kSimulations = 12;  // until a candidate meets the objectives request by request
constexpr std::int64_t kAnyNumber = 1 << 20;

bool better(const Candidate& a, const Candidate& b, const Objectives& o) {
    if (a.meets != b.meets) return a.meets;
    if (a.fits != b.fits) return a.fits;
    if (a.pruned != b.pruned) return b.pruned;
    const double x = rank_value(a, o), y = rank_value(b, o);
    if (x != y) return x < y;
    return a.itl_mean < b.itl_mean;
}

void sort(std::vector<Candidate>& all, const Objectives& o) {
    std::stable_sort(all.begin(), all.end(),
                     [&](const Candidate& a, const Candidate& b) { return better(a, b, o); });
}

struct Point {
    std::size_t variant, offer;
    Deployment deployment;
};

std::vector<Point> points(const PlanInputs& in) {
    std::vector<Point> all;
    for (std::size_t v = 0; v < in.variants.size(); ++v) {
        for (std::size_t h = 0; h < in.offers.size(); ++h) {
            const Model& model = in.variants[v].model;
            const auto deployments =
                in.deployments.empty() ? sensible_deployments(model, in.offers[h].hardware) : in.deployments;
            for (const Deployment& d : deployments) all.push_back({v, h, d});
        }
    }
    return all;
}

// Candidates that need more than four times the GPUs of the best so far are not refined: they are listed with
// what they would need at least.
std::vector<Candidate> evaluate_all(const PlanInputs& in, const Objectives& o) {
    const std::vector<Point> all = points(in);
    const std::size_t roles = (in.together ? 1 : 0) + (in.pools ? 2 : 0);
    std::size_t done = 0;
    const auto run = [&](PoolRole role) {
        std::vector<Candidate> found;
        std::int64_t enough = kAnyNumber;
        for (const Point& p : all) {
            found.push_back(evaluate(in, o, p.variant, p.offer, p.deployment, role, enough));
            const Candidate& c = found.back();
            if (c.meets) enough = std::min(enough, std::max<std::int64_t>(4 * c.gpus, 64));
            if (in.progress) in.progress(++done, roles * all.size());
        }
        return found;
    };
    std::vector<Candidate> candidates;
    if (in.together) candidates = run(PoolRole::both);
    if (!in.pools) return candidates;
    for (Candidate& c : pair_pools(in, o, run(PoolRole::prefill), run(PoolRole::decode)))
        candidates.push_back(std::move(c));
    return candidates;
}

// The best candidate is run request by request; one that misses there gets another replica and its new rank.
void verify_best(Plan& p, const PlanInputs& in, const Objectives& o) {
    for (int run = 1; run <= kSimulations; ++run) {
        Candidate& c = p.candidates.front();
        if (!c.meets) return;
        Verification v = verify(in, o, c);
        v.simulations = run;
        const bool done = v.meets;
        p.verification = std::move(v);
        if (done) return;
        Group& g = c.prefill && o.ttft && p.verification->ttft > *o.ttft ? *c.prefill : c.decode;
        const double more = std::clamp(p.verification->worst, 1.1, 2.0);
        g.replicas =
            std::max(g.replicas + 1, static_cast<std::int64_t>(static_cast<double>(g.replicas) * more));
        set_totals(c, in, o);
        if (c.gpus > o.max_gpus) {
            c.meets = false;
            c.why_not = "meets the objectives on average, not request by request";
        }
        sort(p.candidates, o);
    }
    p.verification.reset();
    p.note = fmt::format(
        "{} candidates missed the objectives when they were simulated; this one was not simulated",
        kSimulations);
}

// The least factor by which all objectives have to give way for some candidate, with as many replicas as are
// allowed; and which objective that is.
std::optional<Nearest> nearest(const PlanInputs& in, const Objectives& o) {
    Objectives none = o;
    none.ttft = none.itl = none.tpot = none.e2e = std::nullopt;
    PlanInputs idle = in;
    idle.load.rate = 1e-3 * in.load.rate;
    idle.requests = {};
    idle.pools = false;
    double least = std::numeric_limits<double>::infinity();
    Nearest found;
    for (const Point& p : points(in)) {
        const Candidate c =
            evaluate(idle, none, p.variant, p.offer, p.deployment, PoolRole::both, kAnyNumber);
        if (!c.fits || gpus(p.deployment) > o.max_gpus) continue;
        Nearest worst;
        double most = 0;
        const auto look = [&](const char* what, const std::optional<Seconds>& wanted, Seconds value) {
            if (!wanted || value / *wanted <= most) return;
            most = value / *wanted;
            worst = {what, *wanted, value, 0};
        };
        look("TTFT", o.ttft, c.ttft_tail);
        look("ITL", o.itl, c.itl_tail);
        look("TPOT", o.tpot, c.tpot_tail);
        look("end to end", o.e2e, c.e2e_tail);
        if (most <= 0 || most >= least) continue;
        least = most;
        found = worst;
    }
    if (found.objective.empty()) return std::nullopt;
    // With some room: an objective at the very limit takes a replica per request.
    const double room = 1.15 * std::max(1.0, least);
    Objectives relaxed = o;
    for (auto* objective : {&relaxed.ttft, &relaxed.itl, &relaxed.tpot, &relaxed.e2e}) {
        if (*objective) **objective *= room;
    }
    found.reached = room * found.wanted;
    std::vector<Candidate> all;
    PlanInputs plain = in;
    plain.progress = {};
    for (Candidate& c : evaluate_all(plain, relaxed)) all.push_back(std::move(c));
    sort(all, o);
    if (!all.empty() && all.front().meets) found.gpus = all.front().gpus;
    return found;
}

std::string reason_of(const Plan& p, const PlanInputs& in) {
    if (p.candidates.empty()) return "no deployment of this model is possible on this device";
    const bool fits =
        std::any_of(p.candidates.begin(), p.candidates.end(), [](const Candidate& c) { return c.fits; });
    if (!fits) {
        const auto least =
            std::min_element(p.candidates.begin(), p.candidates.end(),
                             [](const Candidate& a, const Candidate& b) { return a.needs < b.needs; });
        return fmt::format("nothing fits: the nearest, tp {} pp {} on {}, needs {} per GPU",
                           least->decode.deployment.tp, least->decode.deployment.pp,
                           in.offers[least->decode.offer].hardware.name, format_binary(least->needs));
    }
    const Candidate& first = p.candidates.front();
    std::string text = fmt::format("nearest: {} of tp {} pp {}: {}", first.decode.replicas,
                                   first.decode.deployment.tp, first.decode.deployment.pp, first.why_not);
    if (p.nearest) {
        text += fmt::format("; with {} {} instead of {}", p.nearest->objective, format(p.nearest->reached, 3),
                            format(p.nearest->wanted, 3));
        text += p.nearest->gpus > 0 ? fmt::format(" {} GPUs would do", p.nearest->gpus)
                                    : " more GPUs than allowed would do";
    }
    return text;
}

}  // namespace

std::string to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::ok:
            return "ok";
        case Verdict::saturated:
            return "saturated";
        case Verdict::infeasible:
            return "infeasible";
    }
    return "";
}

double rank_value(const Candidate& c, const Objectives& o) {
    constexpr double kUnknown = std::numeric_limits<double>::max();
    switch (o.rank) {
        case RankBy::gpus:
            return static_cast<double>(c.gpus);
        case RankBy::cost:
            return c.cost ? c.cost->base() : kUnknown;
        case RankBy::power:
            return c.power ? c.power->base() : kUnknown;
    }
    return kUnknown;
}

Plan plan(const PlanInputs& in, const Objectives& o) {
    Plan p;
    p.candidates = evaluate_all(in, o);
    sort(p.candidates, o);
    if (in.requests && !p.candidates.empty()) verify_best(p, in, o);
    sort(p.candidates, o);
    if (!p.candidates.empty() && p.candidates.front().meets) {
        p.verdict = Verdict::ok;
        p.best = 0;
        p.relief = relief(in, p.candidates.front());
        p.frontier = frontier(in, p.candidates.front());
        return p;
    }
    p.verification.reset();
    const bool too_many = std::any_of(p.candidates.begin(), p.candidates.end(),
                                      [&](const Candidate& c) { return c.fits && c.gpus > o.max_gpus; });
    p.verdict = too_many ? Verdict::saturated : Verdict::infeasible;
    p.nearest = nearest(in, o);
    p.reason = reason_of(p, in);
    return p;
}

}  // namespace headroom
