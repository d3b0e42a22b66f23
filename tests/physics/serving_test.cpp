// SPDX-License-Identifier: Apache-2.0
#include "physics/serving.h"

#include "catalogue.h"
#include "serving/steady.h"
#include "spec/generate.h"
#include "spec/prefix_cache.h"

#include <map>
#include <random>

using namespace headroom;
using namespace headroom::test;

namespace {

// Every token once, memory empty at the end, time forwards; whatever the policy.
void check_conservation(const System& system, const RequestSource& source, const Playback& load = {}) {
    std::map<int, double> clock;
    std::map<std::pair<int, int>, double> lane_free;
    double tokens_out = 0, prompts = 0, used_most = 0;
    std::int64_t finished = 0, expected_out = 0;
    double last_begin = 0;
    Observers watch;
    watch.step = [&](const StepRecord& s) {
        CHECK(s.end > s.begin);
        CHECK(s.begin >= last_begin);
        CHECK(s.begin >= lane_free[{s.replica, s.lane}] - 1e-12);
        CHECK(s.blocks_used <= s.blocks);
        CHECK(s.decodes + s.prompt_tokens > 0);
        last_begin = s.begin;
        lane_free[{s.replica, s.lane}] = s.end;
        tokens_out += static_cast<double>(s.decodes);
        prompts += static_cast<double>(s.prompt_tokens);
        used_most = std::max(used_most, static_cast<double>(s.blocks_used));
    };
    watch.request = [&](const RequestRecord& r) {
        ++finished;
        expected_out += r.output * r.width;
        CHECK(r.first_token > r.arrival);
        CHECK(r.finished >= r.first_token);
    };
    const SimulationResult r = simulate(system, source, load, watch);
    CHECK(r.completed + r.refused == r.requests);
    CHECK(r.completed == finished);
    CHECK(r.tokens_out == expected_out);
    for (const PoolResult& pool : r.pools) CHECK(pool.blocks_at_end == 0);
    CHECK(used_most > 0);
    // First tokens come from prompts, all others from gaps.
    CHECK(r.itl.weight() + static_cast<double>(finished) ==
          Catch::Detail::Approx(static_cast<double>(expected_out)));
    // Prompts run once, but for what was found in a cache and what was lost to preemption.
    if (r.preemptions == 0 && r.prefix_hit_rate == 0)
        CHECK(prompts == Catch::Detail::Approx(static_cast<double>(r.tokens_in)));
    if (r.preemptions == 0 && system.policy.batching == Batching::continuous)
        CHECK(tokens_out + static_cast<double>(finished) ==
              Catch::Detail::Approx(static_cast<double>(expected_out)));
}

}  // namespace

TEST_CASE("every token is served once, KV returns to empty and time never runs backwards", "[serving]") {
    System system = one_replica("llama-3-8b", 1);
    SECTION("at a moderate load") { check_conservation(system, traffic(1500, 20, 800, 200)); }
    SECTION("in overload") { check_conservation(system, traffic(1500, 500, 800, 200)); }
    SECTION("with preemption by recompute") {
        system.pools[0].hardware.memory.capacity.value = 24 * GB;
        check_conservation(system, traffic(800, 100, 400, 600));
    }
    SECTION("with preemption by swapping") {
        system.pools[0].hardware.memory.capacity.value = 24 * GB;
        system.policy.preemption = Preemption::swap;
        check_conservation(system, traffic(800, 100, 400, 600));
    }
    SECTION("with reserved memory") {
        system.policy.allocation = Allocation::reserve;
        system.policy.max_tokens = 4096;
        check_conservation(system, traffic(800, 100, 400, 300));
    }
    SECTION("in fixed batches") {
        system.policy.batching = Batching::fixed;
        system.policy.max_sequences = 32;
        check_conservation(system, traffic(800, 100, 400, 300));
    }
    SECTION("without chunked prefill") {
        system.pools[0].engine.scheduler.chunked_prefill = false;
        check_conservation(system, traffic(800, 50, 800, 200));
    }
    SECTION("through pipeline stages") {
        System staged = one_replica("llama-3-8b", 1);
        staged.pools[0].shard = shard(test::model("llama-3-8b"), {.tp = 1, .pp = 4});
        check_conservation(staged, traffic(1500, 200, 800, 200));
        staged.pools[0].hardware.memory.capacity.value = 8.5 * GB;
        staged.pools[0].engine = test::engine("ideal");
        staged.pools[0].engine.scheduler.max_batched_tokens.value = 512;
        check_conservation(staged, traffic(500, 200, 800, 200));
    }
    SECTION("over several replicas, in a closed loop") {
        system.pools[0].replicas = 3;
        check_conservation(system, traffic(800, 0, 500, 200), {.concurrency = 100});
    }
    SECTION("with windows and states in the cache") {
        Model windowed = test::model("llama-3-8b");
        Layer local = windowed.kinds.front();
        std::get<SoftmaxAttention>(local.mixer).window = 1024;
        windowed.kinds.push_back(local);
        for (std::size_t i = 0; i < windowed.layout.size(); i += 2) windowed.layout[i] = 1;
        system.pools[0].shard = shard(windowed, {});
        check_conservation(system, traffic(600, 20, 2000, 200));
    }
}

TEST_CASE("at low load a request takes exactly the analytic steps", "[serving][physics]") {
    for (const char* model : {"llama-3-8b", "llama-3-70b"}) {
        const System system = one_replica(model, 4);
        const Pool& p = system.pools[0];
        Request lone;
        lone.input_tokens = 777;
        lone.output_tokens = 50;
        const SimulationResult r = simulate(system, listed({lone}), {});
        Batch prompt = prefill_batch(1, 777);
        const double first = p.engine.time.per_request.expected +
                             step_time(p.shard, prompt, p.hardware, p.engine).time.expected.in(second) +
                             beyond_kernels(p.shard, p.hardware, p.engine, 777).in(second);
        CHECK(test::near(r.ttft.mean(), first));
        double rest = 0, longest = 0;
        for (int i = 1; i < 50; ++i) {
            const double step =
                step_time(p.shard, decode_batch(1, 777 + i), p.hardware, p.engine).time.expected.in(second);
            rest += step;
            longest = std::max(longest, step);
        }
        CHECK(test::near(r.e2e.mean(), first + rest));
        CHECK(test::near(r.itl.max(), longest));
        CHECK(test::near(r.tpot.mean(), rest / 49));
    }
}

TEST_CASE("at high load no step beats its floor", "[serving][physics]") {
    const System system = one_replica("llama-3-8b", 1, "ideal");
    const Pool& p = system.pools[0];
    double floors = 0, times = 0;
    std::int64_t count = 0;
    Observers watch;
    watch.step = [&](const StepRecord& s) {
        if (++count % 37 != 0 || s.chunks > 1) return;
        Batch batch;
        if (s.decodes > 0)
            batch = decode_batch(double(s.decodes), double(s.decode_context) / double(s.decodes));
        // At least what the tokens of the prompt cost without their past.
        if (s.prompt_tokens > 0)
            batch.groups.push_back({.sequences = 1, .fresh = double(s.prompt_tokens), .past = 0});
        const double floor = step_time(p.shard, batch, p.hardware, p.engine).time.floor.in(second);
        CHECK(s.end - s.begin >= floor);
        floors += floor;
        times += s.end - s.begin;
    };
    simulate(system, traffic(1500, 1000, 1000, 200), {}, watch);
    CHECK(floors > 0.2 * times);
    CHECK(floors < times);
}

TEST_CASE("in a closed loop every client has one request, also while its first token is late",
          "[serving][physics]") {
    System system = one_replica("llama-3-8b", 1);
    system.pools[0].engine.time.prompt_stretch = 1.5;
    for (const std::int64_t clients : {1, 4, 16}) {
        const SimulationResult r = simulate(system, traffic(800, 1, 4000, 50), {.concurrency = clients});
        const double in_flight =
            static_cast<double>(r.completed) / r.duration * r.e2e.mean();  // Little's law
        INFO(clients << " clients: " << in_flight);
        CHECK(in_flight <= 1.001 * static_cast<double>(clients));
        CHECK(in_flight > 0.9 * static_cast<double>(clients));
    }
}

TEST_CASE("overload is called saturated with a rate that is then carried", "[serving]") {
    const System system = one_replica("llama-3-8b", 1);
    const SimulationResult over = simulate(system, traffic(12000, 120, 1000, 200), {});
    REQUIRE(over.saturated);
    CHECK(over.sustainable_per_s > 5);
    CHECK(over.sustainable_per_s < 120);
    const SimulationResult below =
        simulate(system, traffic(12000, 0.85 * over.sustainable_per_s, 1000, 200), {});
    CHECK_FALSE(below.saturated);
    const SimulationResult above =
        simulate(system, traffic(12000, 1.2 * over.sustainable_per_s, 1000, 200), {});
    CHECK(above.saturated);
    CHECK(test::near(above.sustainable_per_s, over.sustainable_per_s, 0.1));
}

TEST_CASE("the steady state is what a simulation comes to", "[serving][physics]") {
    // Log-normal lengths with sigma 0.8: the mean is exp(0.32) of the median, cv = sqrt(exp(0.64) - 1).
    const double mean = std::exp(0.32), cv = std::sqrt(std::exp(0.64) - 1);
    for (const auto& [tp, pp] : {std::pair{1, 1}, {2, 1}, {1, 2}, {1, 4}}) {
        System system = one_replica("llama-3-8b", 1);
        Pool& p = system.pools[0];
        p.shard = shard(test::model("llama-3-8b"), {.tp = tp, .pp = pp});
        Load load;
        load.input = 800 * mean;
        load.output = 150 * mean;
        // Long outputs hold more for longer.
        load.context = load.input + load.output * (1 + cv * cv) / 2;
        load.input_cv = cv;
        const Frequency most = sustainable_rate(p.shard, p.hardware, p.engine, load);
        for (const double share : {0.2, 0.5, 0.8}) {
            INFO("tp " << tp << " pp " << pp << " at " << share);
            load.rate = share * most;
            const SteadyState s = steady_state(p.shard, p.hardware, p.engine, load);
            const SimulationResult r = simulate(system, traffic(8000, load.rate.in(hertz), 800, 150), {});
            CHECK_FALSE(r.saturated);
            CHECK(test::near(s.itl_mean.in(second), r.itl.mean(), tp > 1 ? 0.15 : 0.1));
            CHECK(test::near(s.ttft_mean.in(second), r.ttft.mean(), 0.15));
            CHECK(test::near(s.batch, r.pools[0].mean_batch, pp > 2 ? 0.15 : 0.12));
        }
    }
}

TEST_CASE("pipeline stages raise what a replica sustains, not how fast one sequence goes",
          "[serving][physics]") {
    const Model model = test::model("llama-3-8b");
    const Hardware h = test::hardware("h100-sxm");
    const Engine e = test::engine("vllm");
    Load load;
    load.input = 500;
    load.output = 300;
    load.context = 650;
    const Shard one = shard(model, {}), four = shard(model, {.pp = 4});
    const double gain = sustainable_rate(four, h, e, load) / sustainable_rate(one, h, e, load);
    // The host's work for a batch is not cut, and the scheduler's limit on sequences is shared by all lanes.
    CHECK(gain > 1.6);
    CHECK(gain < 4.6);  // a little above four: the stages also have room for larger batches
    load.rate = 0.01 * hertz;
    CHECK(steady_state(four, h, e, load).itl_mean >= steady_state(one, h, e, load).itl_mean);
}

TEST_CASE("a prompt that was seen is found while its blocks are there", "[serving]") {
    System system = one_replica("llama-3-8b", 1);
    std::vector<Request> requests;
    for (int i = 0; i < 20; ++i) {
        Request r;
        r.arrival = Seconds(10.0 * i);
        r.input_tokens = 1600;
        r.output_tokens = 10;
        r.prefix_block = 512;
        for (std::uint64_t part = 0; part < 4; ++part)
            r.prefix.push_back(part < 2 ? part + 1 : 1000 * static_cast<std::uint64_t>(i) + part);
        requests.push_back(r);
    }
    const SimulationResult r = simulate(system, listed(requests), {});
    // The first two parts of 512, from the second request on.
    CHECK(test::near(r.prefix_hit_rate, 19.0 * 1024 / (20 * 1600)));
    CHECK(r.pools[0].blocks_at_end == 0);
    system.policy.keep_prefixes = false;
    CHECK(simulate(system, listed(requests), {}).prefix_hit_rate == 0);
    // A cache that holds two prompts, and three that take turns: each is gone when it comes again.
    System small = one_replica("llama-3-8b", 1, "ideal");
    small.pools[0].engine.memory.block_tokens.value = 16;
    const Pool& p = small.pools[0];
    const Capacity c = capacity(p.shard, p.hardware, p.engine, 1);
    small.pools[0].hardware.memory.capacity.value =
        c.ledger.weights + c.ledger.activations + c.ledger.runtime + 210 * (16 * token * growth(c.kv));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        for (std::size_t part = 0; part < 4; ++part) requests[i].prefix[part] = 10 * (i % 3) + part + 1;
    }
    const SimulationResult turns = simulate(small, listed(requests), {});
    CHECK(turns.completed == 20);
    CHECK(turns.prefix_hit_rate < 0.35);
    CHECK(turns.pools[0].blocks_at_end == 0);
}

TEST_CASE("when requests are far apart the cache finds what a count of prefixes finds", "[serving]") {
    Workload w;
    w.arrivals = PoissonArrivals{0.02 * hertz};
    w.input = FixedLength{300};
    w.output = FixedLength{20};
    w.system = {.prompts = 5, .tokens = FixedLength{1024}, .skew = 1};
    w.requests = 400;
    PrefixCacheCount count(0);
    Request r;
    for (const RequestSource next = generate(w); next(r);) count.add(r);
    const SimulationResult simulated = simulate(one_replica("llama-3-8b", 1), generate(w), {});
    CHECK(count.hits().token_rate > 0.5);
    CHECK(test::near(simulated.prefix_hit_rate, count.hits().token_rate, 0.01));
}

TEST_CASE("a simulation is the same every time and its statistics are bounded in memory", "[serving]") {
    const System system = one_replica("llama-3-8b", 1);
    const SimulationResult a = simulate(system, traffic(3000, 25, 800, 200, 7), {});
    const SimulationResult b = simulate(system, traffic(3000, 25, 800, 200, 7), {});
    CHECK(a.duration == b.duration);
    CHECK(a.ttft.percentile(0.99) == b.ttft.percentile(0.99));
    Distribution exact, binned;
    std::mt19937_64 random(3);
    std::vector<double> values;
    for (int i = 0; i < 200000; ++i) {
        values.push_back(std::lognormal_distribution<>(-4, 1)(random));
        binned.add(values.back());
    }
    CHECK_FALSE(binned.exact());
    std::sort(values.begin(), values.end());
    for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999}) {
        const double truth = values[static_cast<std::size_t>(share * double(values.size())) - 1];
        CHECK(test::near(binned.percentile(share), truth, Distribution::kBinWidth));
    }
}

TEST_CASE("decoding is not disturbed by prompts when pools are apart", "[serving][physics]") {
    System pools;
    const Model model = test::model("llama-3-8b");
    const Hardware h = test::hardware("h100-sxm");
    const Engine e = test::engine("vllm");
    pools.pools = {{PoolRole::prefill, shard(model, {}), h, e, 1},
                   {PoolRole::decode, shard(model, {}), h, e, 1}};
    pools.handover = Handover{"link", 40 * GB / second, Seconds(1e-5)};
    System together;
    together.pools = {{PoolRole::both, shard(model, {}), h, e, 2}};
    const auto source = [] { return traffic(4000, 10, 2500, 120); };
    const SimulationResult apart = simulate(pools, source(), {});
    const SimulationResult beside = simulate(together, source(), {});
    check_conservation(pools, source());
    CHECK_FALSE(apart.saturated);
    CHECK(apart.itl.percentile(0.9) < 0.5 * beside.itl.percentile(0.99));
    // The cache moves while the prompt runs, so only its last layers are waited for.
    CHECK(apart.transfer_mean > Seconds{});
    CHECK(apart.transfer_mean < 5 * ms);
    pools.handover->bandwidth = 0.5 * GB / second;
    const SimulationResult slow = simulate(pools, source(), {});
    CHECK((slow.saturated || slow.transfer_mean > 100 * apart.transfer_mean));
}
