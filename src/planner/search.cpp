// SPDX-License-Identifier: Apache-2.0
#include "planner/plan.h"
#include "planner/relief.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr int kSimulations = 24;  // until a candidate meets the objectives request by request
constexpr std::int64_t kAnyNumber = 1 << 20;

void sort(std::vector<Candidate>& all, const Objectives& o) {
    std::stable_sort(all.begin(), all.end(),
                     [&](const Candidate& a, const Candidate& b) { return better(a, b, o); });
}

std::vector<Point> points(const PlanInputs& in) {
    std::vector<Point> all;
    for (std::size_t v = 0; v < in.variants.size(); ++v) {
        for (std::size_t h = 0; h < in.offers.size(); ++h) {
            const Model& model = in.variants[v].model;
            const auto deployments =
                in.deployments.empty() ? sensible_deployments(model, in.offers[h].hardware) : in.deployments;
            for (const Deployment& d : deployments) all.push_back({v, h, d, 0});
        }
    }
    return all;
}

// Another token budget is taken for a reason only.
bool improves(const Candidate& a, const Candidate& b, const Objectives& o) {
    if (a.meets != b.meets) return a.meets;
    if (a.fits != b.fits) return a.fits;
    return a.meets && rank_value(a, o) < rank_value(b, o);
}

// Candidates that need more than four times the GPUs of the best so far are not refined: they are listed with
// what they would need at least. Of the token budgets only the best is kept.
std::vector<Candidate> evaluate_all(const PlanInputs& in, const Objectives& o, SearchCounts& counts) {
    const std::vector<Point> all = points(in);
    const std::vector<std::int64_t> budgets = in.budgets.empty() ? std::vector<std::int64_t>{0} : in.budgets;
    const std::size_t roles = (in.together ? 1 : 0) + (in.pools ? 2 : 0);
    std::size_t done = 0;
    const auto run = [&](PoolRole role) {
        std::vector<Candidate> found;
        std::int64_t enough = kAnyNumber;
        for (Point p : all) {
            std::optional<Candidate> best;
            for (const std::int64_t budget : budgets) {
                p.budget = budget;
                // No budget moves the floor of a step.
                Candidate c = best && best->pruned ? *best : evaluate(in, o, p, role, enough);
                ++counts.considered;
                counts.unfit += c.fits ? 0 : 1;
                counts.pruned += c.pruned ? 1 : 0;
                if (c.meets) enough = std::min(enough, std::max<std::int64_t>(4 * c.gpus, 64));
                if (!best || improves(c, *best, o)) best = std::move(c);
                if (in.progress) in.progress(++done, roles * all.size() * budgets.size());
            }
            found.push_back(std::move(*best));
        }
        return found;
    };
    std::vector<Candidate> candidates;
    if (in.together) candidates = run(PoolRole::both);
    if (!in.pools) return candidates;
    const std::vector<Candidate> prefill = run(PoolRole::prefill), decode = run(PoolRole::decode);
    for (Candidate& c : pair_pools(in, o, prefill, decode, counts.pairs)) candidates.push_back(std::move(c));
    return candidates;
}

// The same candidate with the next smaller token budget, where that is said to meet the objectives too.
std::optional<Candidate> with_less_budget(const PlanInputs& in, const Objectives& o, const Candidate& c) {
    if (c.prefill) return std::nullopt;
    for (const std::int64_t budget : in.budgets) {
        if (budget >= c.decode.budget) continue;
        Candidate less = evaluate(in, o, {c.variant, c.decode.offer, c.decode.deployment, budget},
                                  PoolRole::both, kAnyNumber);
        if (less.meets && less.gpus <= c.gpus) return less;
    }
    return std::nullopt;
}

// The best candidate is run request by request. One that misses a gap there gets a smaller token budget, or
// else another replica and its new rank.
void verify_best(Plan& p, const PlanInputs& in, const Objectives& o) {
    for (int run = 1; run <= kSimulations; ++run) {
        Candidate& c = p.candidates.front();
        if (!c.meets) return;
        Verification v = verify(in, o, c);
        v.simulations = run;
        p.counts.simulated = run;
        const bool done = v.meets;
        p.verification = std::move(v);
        if (done) return;
        const bool late = o.ttft && p.verification->ttft > *o.ttft;
        if (const auto less = late ? std::nullopt : with_less_budget(in, o, c)) {
            c = *less;
            sort(p.candidates, o);
            continue;
        }
        Group& g = c.prefill && o.ttft && p.verification->ttft > *o.ttft ? *c.prefill : c.decode;
        const double more = std::clamp(p.verification->worst, 1.1, 2.0);
        g.replicas =
            std::max(g.replicas + 1, static_cast<std::int64_t>(static_cast<double>(g.replicas) * more));
        if (c.prefill)
            set_totals(c, in, o);
        else
            set_replicas(c, in, o, g.replicas);
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

// Every candidate on a thousandth of the load and without objectives: the latencies that nothing waits for.
std::vector<Candidate> idle_candidates(const PlanInputs& in, const Objectives& o) {
    Objectives none = o;
    none.ttft = none.itl = none.tpot = none.e2e = std::nullopt;
    PlanInputs idle = in;
    idle.load.rate = 1e-3 * in.load.rate;
    const auto run = [&](PoolRole role) {
        std::vector<Candidate> found;
        for (const Point& p : points(in)) found.push_back(evaluate(idle, none, p, role, kAnyNumber));
        return found;
    };
    std::vector<Candidate> all;
    if (in.together) all = run(PoolRole::both);
    if (!in.pools) return all;
    const std::vector<Candidate> prefill = run(PoolRole::prefill), decode = run(PoolRole::decode);
    std::int64_t unused = 0;
    for (const Candidate& p : prefill) {
        for (const Candidate& d : decode) {
            // One by one: of a list only those with the fewest GPUs come back.
            for (Candidate& c : pair_pools(idle, none, {p}, {d}, unused)) {
                if (c.meets) all.push_back(std::move(c));
            }
        }
    }
    return all;
}

// The least factor by which all objectives have to give way for some candidate, with as many replicas as are
// allowed; and which objective that is.
std::optional<Nearest> nearest(const PlanInputs& in, const Objectives& o) {
    double least = std::numeric_limits<double>::infinity();
    Nearest found;
    for (const Candidate& c : idle_candidates(in, o)) {
        const int needed = gpus(c.decode.deployment) + (c.prefill ? gpus(c.prefill->deployment) : 0);
        if (!c.fits || needed > o.max_gpus) continue;
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
    SearchCounts unused;
    for (Candidate& c : evaluate_all(plain, relaxed, unused)) all.push_back(std::move(c));
    sort(all, o);
    if (!all.empty() && all.front().meets) found.gpus = all.front().gpus;
    return found;
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

bool better(const Candidate& a, const Candidate& b, const Objectives& o) {
    if (a.meets != b.meets) return a.meets;
    if (a.fits != b.fits) return a.fits;
    if (a.pruned != b.pruned) return b.pruned;
    if (a.pruned) return a.floor_over < b.floor_over;
    const double x = rank_value(a, o), y = rank_value(b, o);
    if (x != y) return x < y;
    return a.itl_mean < b.itl_mean;
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
    p.candidates = evaluate_all(in, o, p.counts);
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
    p.reason = reason_of(p, in, o);
    return p;
}

}  // namespace headroom
