// SPDX-License-Identifier: Apache-2.0
// Traffic and systems at the edge of what is possible.
#include "physics/serving.h"
#include "planner/plan.h"
#include "serving/pools.h"
#include "serving/steady.h"

#include <limits>

using namespace headroom;
using namespace headroom::test;

namespace {

Request request(double arrival, std::int64_t input, std::int64_t output) {
    Request r;
    r.arrival = Seconds(arrival);
    r.input_tokens = input;
    r.output_tokens = output;
    return r;
}

/// Requests of one length, at random times.
RequestSource alike(std::int64_t requests, double rate, std::int64_t input, std::int64_t output) {
    const RequestSource random = traffic(requests, rate, 1, 1);
    return [=](Request& r) {
        if (!random(r)) return false;
        r.input_tokens = input;
        r.output_tokens = output;
        return true;
    };
}

Load load_of(double input, double output) {
    Load load;
    load.input = input;
    load.output = output;
    load.context = input + output / 2;
    load.inputs = {input, 0, input, input, input, input};
    load.outputs = {output, 0, output, output, output, output};
    return load;
}

}  // namespace

TEST_CASE("odd traces are served or refused, never lost", "[serving]") {
    System system = one_replica("llama-3-8b", 1);
    const auto run = [&](std::vector<Request> requests, const Playback& playback = {}) {
        const auto count = static_cast<std::int64_t>(requests.size());
        const SimulationResult r = simulate(system, listed(std::move(requests)), playback);
        CHECK(r.requests == count);
        CHECK(r.completed + r.refused == r.requests);
        CHECK(r.pools[0].blocks_at_end == 0);
        for (const Distribution* d : {&r.ttft, &r.itl, &r.tpot, &r.e2e}) {
            CHECK(std::isfinite(d->mean()));
            CHECK(std::isfinite(d->percentile(0.99)));
        }
        return r;
    };
    SECTION("none") { CHECK(run({}).duration == 0); }
    SECTION("one") {
        const SimulationResult r = run({request(5, 100, 10)});
        CHECK(r.completed == 1);
        CHECK(r.ttft.mean() < 1);  // counted from its arrival, not from zero
    }
    SECTION("without a prompt, without an answer") {
        const SimulationResult r = run({request(0, 0, 10), request(0, 10, 0), request(0, 0, 0)});
        CHECK(r.completed == 3);
        CHECK(r.tokens_out == 12);  // an answer has at least its first token
    }
    SECTION("all at the same time") {
        const SimulationResult r = run(std::vector<Request>(3000, request(0, 300, 30)));
        CHECK(r.completed == 3000);
        CHECK_FALSE(r.saturated);  // there is no rate to be saturated by
    }
    SECTION("a clock that runs backwards") {
        const SimulationResult r = run({request(10, 100, 10), request(2, 100, 10), request(11, 100, 10)});
        CHECK(r.completed == 3);
        CHECK(r.ttft.max() < 1);
    }
    SECTION("a prompt longer than the whole cache, among others") {
        const SimulationResult r =
            run({request(0, 100, 10), request(0, 10'000'000, 10), request(0, 100, 10)});
        CHECK(r.completed == 2);
        CHECK(r.refused == 1);
    }
    SECTION("longer than a limit on sequences") {
        system.policy.max_tokens = 128;
        CHECK(run({request(0, 100, 28), request(0, 100, 29)}).refused == 1);
    }
    SECTION("played back a million times faster") {
        const SimulationResult r =
            run({request(0, 100, 10), request(3600, 100, 10), request(7200, 100, 10)}, {.scale = 1e6});
        CHECK(r.completed == 3);
        CHECK(r.duration < 1);
    }
    SECTION("far more clients than requests") {
        CHECK(run({request(0, 100, 10), request(0, 100, 10)}, {.concurrency = 1000}).completed == 2);
    }
}

TEST_CASE("a cache of exactly one request serves one at a time, of a block less none", "[serving]") {
    System system = one_replica("llama-3-8b", 1, "ideal");
    Pool& p = system.pools[0];
    p.engine.memory.block_tokens.value = 16;
    const Capacity c = capacity(p.shard, p.hardware, p.engine, 1);
    const auto with_blocks = [&](std::int64_t blocks) {
        p.hardware.memory.capacity.value = (c.ledger.weights + c.ledger.activations + c.ledger.runtime +
                                            static_cast<double>(blocks) * c.block_bytes) /
                                           p.engine.memory.utilisation.value;
        return simulate(system, alike(20, 1000, 480, 160), {});
    };
    const SimulationResult one = with_blocks(40);  // 640 tokens
    CHECK(one.completed == 20);
    CHECK(one.pools[0].blocks == 40);
    CHECK(one.pools[0].mean_batch <= 1.0);
    CHECK(with_blocks(39).refused == 20);
    CHECK(with_blocks(0).refused == 20);
}

TEST_CASE("a link slower than its traffic saturates pools, whatever their GPUs could do", "[serving]") {
    System pools;
    const Model m = model("llama-3-8b");
    for (const PoolRole role : {PoolRole::prefill, PoolRole::decode})
        pools.pools.push_back({role, shard(m, {}), hardware("h100-sxm"), engine("vllm"), 1});
    // 1000 tokens of 128 KiB take 1.31 s at 0.1 GB/s: 0.76 caches a second, and 5 prompts come.
    pools.handover = Handover{"slow", 0.1 * GB / second, Seconds{}};
    const Seconds each = transfer_time(pools.pools[0].shard, pools.pools[1].shard, *pools.handover, 1000);
    const SimulationResult r = simulate(pools, alike(400, 5, 1000, 50), {});
    CHECK(r.completed == 400);
    CHECK(near(r.duration, 400 * each.in(second), 0.05));
    CHECK(r.saturated);
    CHECK(near(r.sustainable_per_s, 1 / each.in(second), 0.1));
}

TEST_CASE("just below the sustainable rate is carried, just above is not", "[serving][physics]") {
    const System system = one_replica("llama-3-8b", 1);
    const Pool& p = system.pools[0];
    Load load = load_of(500, 200);
    const Frequency most = sustainable_rate(p.shard, p.hardware, p.engine, load);
    for (const double share : {0.999, 1.0, 1.001, 1e9}) {
        load.rate = share * most;
        const SteadyState s = steady_state(p.shard, p.hardware, p.engine, load);
        CHECK(s.saturated == (share >= 1));
        CHECK(std::isfinite(s.batch));
        if (share < 1) CHECK(s.batch <= s.batch_limit);
        if (share < 1) CHECK(std::isfinite(s.ttft_tail.in(second)));
    }
    CHECK(simulate(system, alike(12000, 1.15 * most.in(hertz), 500, 200), {}).saturated);
    CHECK_FALSE(simulate(system, alike(12000, 0.9 * most.in(hertz), 500, 200), {}).saturated);
}

TEST_CASE("context parallelism serves contexts that one GPU cannot hold", "[serving][physics]") {
    const System one = one_replica("llama-3-8b", 1);
    System four = one;
    four.pools[0].shard = shard(model("llama-3-8b"), {.cp = 4});
    // 128 KiB a token: one GPU has room for some 430,000 tokens.
    const auto source = [] { return listed({request(0, 900'000, 20), request(1, 1000, 20)}); };
    CHECK(simulate(one, source(), {}).refused == 1);
    const SimulationResult r = simulate(four, source(), {});
    CHECK(r.refused == 0);
    CHECK(r.completed == 2);
    CHECK(r.pools[0].blocks_at_end == 0);
    // A long prompt is there sooner, and the steady state says so too.
    const auto ttft = [&](const System& s) {
        return simulate(s, listed({request(0, 100'000, 2)}), {}).ttft.mean();
    };
    CHECK(ttft(four) < 0.5 * ttft(one));
    Load load = load_of(20'000, 100);
    load.rate = 0.05 * hertz;
    const Pool &a = one.pools[0], &b = four.pools[0];
    const double steady = steady_state(b.shard, b.hardware, b.engine, load).ttft_mean /
                          steady_state(a.shard, a.hardware, a.engine, load).ttft_mean;
    CHECK(steady < 0.6);
    const auto simulated = [&](const System& s) {
        return simulate(s, alike(200, 0.05, 20'000, 100), {}).ttft.mean();
    };
    CHECK(near(steady, simulated(four) / simulated(one), 0.1));
}

TEST_CASE("at constant concurrency the simulator comes to the mean iteration", "[serving][physics]") {
    // Lengths are log-normal with sigma 0.8, as `traffic` makes them.
    const double mean = std::exp(0.32), squares = std::exp(0.64);
    const auto check = [&](const char* name, int tp, double input, double output) {
        const System system = one_replica(name, tp);
        const Pool& p = system.pools[0];
        Load load = load_of(input * mean, output * mean);
        load.context = load.input + load.output * squares / 2;
        load.input_cv = std::sqrt(squares - 1);
        for (const std::int64_t clients : {1, 16, 64}) {
            INFO(name << " " << clients);
            const auto many = static_cast<double>(clients);
            const SimulationResult r =
                simulate(system, traffic(clients * 40, 0, input, output), {.concurrency = clients});
            const double step =
                mean_iteration(p.shard, p.hardware, p.engine, load, many).time.expected.in(second);
            CHECK(near(step, r.tpot.mean(), 0.1));
            const double rate = static_cast<double>(r.tokens_out) / r.duration;
            CHECK(near(many * load.output / (r.ttft.mean() + load.output * step), rate, 0.15));
        }
    };
    check("llama-3-8b", 1, 1000, 200);
    check("llama-3-70b", 4, 1000, 200);
    check("llama-3-8b", 2, 200, 500);
}

TEST_CASE("requests of one length stay in step: prompts wait together, tokens are disturbed less",
          "[serving][physics]") {
    const System system = one_replica("llama-3-8b", 1);
    const Pool& p = system.pools[0];
    const SimulationResult r = simulate(system, alike(64 * 20, 0, 1000, 200), {.concurrency = 64});
    const double step =
        mean_iteration(p.shard, p.hardware, p.engine, load_of(1000, 200), 64).time.expected.in(second);
    CHECK(r.tpot.mean() < step);
    CHECK(r.tpot.mean() > 0.75 * step);
    CHECK(near(64 / step, static_cast<double>(r.tokens_out) / r.duration, 0.1));
}

TEST_CASE("a plan's figures are those of the steady state at its load", "[planner]") {
    PlanInputs in;
    in.variants = {{"bf16", "bf16", model("llama-3-8b"), false}};
    in.offers = {{hardware("h100-sxm"), std::nullopt}};
    in.engine = engine("vllm");
    in.deployments = {{.tp = 1}, {.tp = 2}};
    in.load = load_of(1000, 200);
    in.load.rate = 30 * hertz;
    const Plan p = plan(in, {});
    REQUIRE(p.best);
    for (const Candidate& c : p.candidates) {
        REQUIRE(c.meets);
        const Shard part = shard(in.variants[0].model, c.decode.deployment);
        Load load = in.load;
        load.rate /= static_cast<double>(c.decode.replicas);
        // Little's law and the mean iteration at that batch.
        const StepTime mean =
            mean_iteration(part, in.offers[0].hardware, in.engine, load, c.decode.state.batch);
        CHECK(near(c.itl_mean.in(second), mean.time.expected.in(second), 0.001));
        CHECK(near(c.decode.state.batch, load.rate * load.output * mean.time.expected, 0.001));
        // What the simulator makes of the same load.
        System system;
        system.pools.push_back({PoolRole::both, part, in.offers[0].hardware, in.engine, 1});
        const SimulationResult r = simulate(system, alike(8000, load.rate.in(hertz), 1000, 200), {});
        CHECK(near(c.itl_mean.in(second), r.itl.mean(), 0.1));
    }
}
