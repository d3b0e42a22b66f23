// SPDX-License-Identifier: Apache-2.0
#include "catalogue.h"
#include "planner/plan.h"
#include "planner/relief.h"
#include "spec/generate.h"

#include <set>

using namespace headroom;

namespace {

PlanInputs inputs(const std::string& model = "llama-3-8b", double rate = 20) {
    PlanInputs in;
    in.variants = {{"bf16", "bf16", test::model(model), false}};
    in.offers = {{test::hardware("h100-sxm"), 2.5 * usd / hour}};
    in.engine = test::engine("vllm");
    in.load.rate = rate * hertz;
    in.load.input = 1000;
    in.load.output = 200;
    in.load.context = 1100;
    in.load.input_cv = 0;
    in.load.inputs = {1000, 0, 1000, 1000, 1000, 1000};
    in.load.outputs = {200, 0, 200, 200, 200, 200};
    return in;
}

Workload fixed_traffic(double rate, std::int64_t requests = 4000) {
    Workload w;
    w.arrivals = PoissonArrivals{rate * hertz};
    w.input = FixedLength{1000};
    w.output = FixedLength{200};
    w.requests = requests;
    return w;
}

}  // namespace

TEST_CASE("a candidate whose floor misses an objective is not looked at any further", "[planner]") {
    PlanInputs in = inputs("llama-3-70b");
    Objectives o;
    o.itl = 5 * ms;  // 141 GB of weights over 3.35 TB/s take 42 ms on one GPU, 5.3 ms on eight
    const Plan p = plan(in, o);
    REQUIRE_FALSE(p.candidates.empty());
    int pruned = 0;
    for (const Candidate& c : p.candidates) {
        if (!c.fits) continue;
        CHECK(c.pruned);
        CHECK(c.decode.state.batch == 0);
        CHECK(c.why_not.find("floor") != std::string::npos);
        ++pruned;
    }
    CHECK(pruned > 0);
    CHECK(p.verdict == Verdict::infeasible);
    REQUIRE(p.nearest);
    CHECK(p.nearest->objective == "ITL");
    CHECK(p.nearest->reached > 5 * ms);
    CHECK(p.nearest->gpus > 0);
}

TEST_CASE("one replica less would miss an objective or the margin", "[planner]") {
    const PlanInputs in = inputs("llama-3-8b", 150);
    Objectives o;
    o.itl = 60 * ms;
    o.ttft = 500 * ms;
    const Plan p = plan(in, o);
    REQUIRE(p.best);
    for (const Candidate& c : p.candidates) {
        if (!c.meets || c.decode.replicas == 1) continue;
        Load load = in.load;
        load.rate /= static_cast<double>(c.decode.replicas - 1);
        const Shard part = shard(in.variants[0].model, c.decode.deployment);
        const SteadyState s = steady_state(part, in.offers[0].hardware, in.engine, load);
        CHECK((s.saturated || s.utilisation > o.margin || s.itl_tail > *o.itl || s.ttft_tail > *o.ttft));
    }
}

TEST_CASE("the best candidate is cheapest by what it is ranked by", "[planner]") {
    PlanInputs in = inputs("llama-3-8b", 60);
    in.offers.push_back({test::hardware("l40s"), 0.9 * usd / hour});
    in.offers.push_back({test::hardware("a100-sxm-80gb"), 1.2 * usd / hour});
    std::set<std::size_t> chosen;
    for (const RankBy rank : {RankBy::gpus, RankBy::cost, RankBy::power}) {
        Objectives o;
        o.rank = rank;
        o.itl = 200 * ms;
        const Plan p = plan(in, o);
        REQUIRE(p.best);
        const Candidate& best = p.candidates[*p.best];
        chosen.insert(best.decode.offer);
        for (const Candidate& c : p.candidates) {
            if (c.meets) CHECK(rank_value(best, o) <= rank_value(c, o));
        }
    }
    CHECK(chosen.size() > 1);
}

TEST_CASE("the winner meets the objectives request by request", "[planner]") {
    PlanInputs in = inputs("llama-3-8b", 40);
    in.requests = [] { return generate(fixed_traffic(40)); };
    Objectives o;
    o.ttft = 400 * ms;
    o.itl = 80 * ms;
    const Plan p = plan(in, o);
    REQUIRE(p.best);
    REQUIRE(p.verification);
    CHECK(p.verification->meets);
    CHECK_FALSE(p.verification->result.saturated);
    CHECK(p.verification->ttft <= *o.ttft);
    CHECK(p.verification->itl <= *o.itl);
}

TEST_CASE("twice the load takes about twice the GPUs, a spare replica one more", "[planner]") {
    Objectives o;
    const Plan one = plan(inputs("llama-3-8b", 200), o), two = plan(inputs("llama-3-8b", 400), o);
    REQUIRE((one.best && two.best));
    const double ratio = double(two.candidates[0].gpus) / double(one.candidates[0].gpus);
    CHECK(ratio > 1.7);
    CHECK(ratio < 2.3);
    Objectives safe = o;
    safe.spare = 1;
    const Plan spared = plan(inputs("llama-3-8b", 200), safe);
    REQUIRE(spared.best);
    for (const Candidate& c : spared.candidates) {
        if (c.meets) CHECK(c.gpus == (c.decode.replicas + 1) * gpus(c.decode.deployment));
    }
}

TEST_CASE("nothing on the frontier is better in both", "[planner]") {
    const Plan p = plan(inputs(), {});
    REQUIRE(p.frontier.size() > 3);
    for (std::size_t i = 1; i < p.frontier.size(); ++i) {
        CHECK(p.frontier[i].tokens_per_s_per_gpu <= p.frontier[i - 1].tokens_per_s_per_gpu);
        CHECK(p.frontier[i].itl_tail < p.frontier[i - 1].itl_tail);
    }
}

TEST_CASE("doubling what does not bind buys nothing, what binds something", "[planner]") {
    const Plan p = plan(inputs(), {});
    REQUIRE(p.relief.size() >= 7);
    for (const Relief& r : p.relief) {
        INFO(r.resource);
        CHECK(r.throughput_gain > 0.9);
        CHECK(r.throughput_gain < 2.3);
    }
    CHECK(p.relief.front().throughput_gain > 1.05);
    CHECK(p.relief.back().throughput_gain < 1.05);
}

TEST_CASE("pools pay for long prompts under a tight gap, not for long answers", "[planner][physics]") {
    Objectives o;
    o.itl = 12 * ms;
    o.ttft = 1500 * ms;
    const auto with = [&](double input, double output, double rate) {
        PlanInputs in = inputs("llama-3-8b", rate);
        in.pools = true;
        in.load.input = input;
        in.load.output = output;
        in.load.context = input + output / 2;
        in.load.inputs = {input, 0, input, input, input, input};
        in.load.outputs = {output, 0, output, output, output, output};
        return plan(in, o);
    };
    const Plan prompts = with(6000, 200, 20), answers = with(100, 1500, 20);
    REQUIRE((prompts.best && answers.best));
    CHECK(prompts.candidates[0].prefill);
    CHECK_FALSE(answers.candidates[0].prefill);
}
