// SPDX-License-Identifier: Apache-2.0
#include "ops/routing.h"

#include "catalogue.h"
#include "ops/shard.h"
#include "perf/step_time.h"

#include <array>

namespace {

using namespace headroom;
using test::near;

Routing power_law(double exponent) { return {RoutingKind::power_law, exponent}; }

double hit(const Routing& routing, double tokens) { return expert_traffic(routing, 128, 128, 8, tokens).hit; }

StepTime step(const Routing& routing, const Deployment& deployment, const Batch& batch) {
    Model m = test::model("qwen3-30b-a3b");
    m.routing = routing;
    return step_time(shard(m, deployment), batch, test::hardware("h100-sxm"), test::engine("vllm"));
}

}  // namespace

TEST_CASE("one token touches as many experts as it chooses, a large batch all, whatever the routing",
          "[physics]") {
    // Mixtral at batch 3: 8 (1 - (3/4)^3) experts
    CHECK(near(expert_traffic({}, 8, 8, 2, 3).hit, 4.625));
    for (const Routing& routing :
         {Routing{}, Routing{RoutingKind::balanced, 0}, power_law(0), power_law(1.01), power_law(2)}) {
        INFO(to_string(routing));
        CHECK(near(hit(routing, 1), 8));
        CHECK(near(hit(routing, 1e6), 128, 1e-6));
        double before = 0;
        for (double tokens = 1; tokens < 1e5; tokens *= 2) {
            CHECK(hit(routing, tokens) >= before);
            CHECK(hit(routing, tokens) <= std::min(128.0, 8 * tokens) + 1e-9);
            before = hit(routing, tokens);
        }
    }
}

TEST_CASE("skewed routing never touches more experts than uniform, balanced never fewer", "[physics]") {
    for (double tokens = 2; tokens < 1e5; tokens *= 1.7) {
        const double even = hit({}, tokens);
        CHECK(hit({RoutingKind::balanced, 0}, tokens) >= even);
        for (const double exponent : {0.0, 0.3, 0.7, 1.0, 1.01, 1.2, 1.5, 2.0}) {
            INFO(exponent << " " << tokens);
            CHECK(hit(power_law(exponent), tokens) <= even);
        }
    }
    // A flat law is the least skewed, that of benchmarks far from uniform.
    CHECK(hit(power_law(0), 16) > hit(power_law(0.5), 16));
    CHECK(hit(power_law(0.5), 16) > hit(power_law(1.01), 16));
    CHECK(hit(power_law(1.01), 16) < 0.7 * hit({}, 16));
}

TEST_CASE("skew loads the busiest GPU with more rows, and no more than its experts can be asked for",
          "[physics]") {
    const double even = expert_traffic({}, 16, 128, 8, 1000).rows;
    CHECK(near(even, 1000));
    double before = even;
    for (const double exponent : {0.0, 1.0, 2.0}) {
        const ExpertTraffic t = expert_traffic(power_law(exponent), 16, 128, 8, 1000);
        CHECK(t.rows > before);
        CHECK(t.rows <= 8000);
        before = t.rows;
    }
    // One GPU that holds all experts has every row, and one that holds a single expert no more than a row
    // each.
    CHECK(near(expert_traffic(power_law(1.2), 128, 128, 8, 1000).rows, 8000));
    CHECK(expert_traffic(power_law(2), 1, 128, 8, 1000).rows <= 1000);
}

TEST_CASE("an interval of a skewed step reaches from skewed to uniform routing", "[physics]") {
    const Batch batch = decode_batch(16, 1000);
    const StepTime uniform = step({}, {}, batch), skewed = step(power_law(1.2), {}, batch);
    CHECK(skewed.work.weights < uniform.work.weights);
    CHECK(skewed.time.expected < uniform.time.expected);
    CHECK(skewed.time.high >= uniform.time.high);
    CHECK(skewed.time.low <= uniform.time.low);
    CHECK(skewed.time.floor <= skewed.time.low);
    // A prompt touches every expert either way; spread over GPUs, the busiest one decides.
    const Deployment spread{.ep = 8, .dp = 8};
    const StepTime even = step({}, spread, prefill_batch(1, 4096));
    const StepTime uneven = step(power_law(1.2), spread, prefill_batch(1, 4096));
    CHECK(uneven.time.expected > even.time.expected);
    CHECK(uneven.time.floor <= even.time.floor);
    // A dense model has nothing to route.
    Model dense = test::model("llama-3-8b");
    dense.routing = power_law(1.2);
    const auto time_of = [&] {
        return step_time(shard(dense, {}), batch, test::hardware("h100-sxm"), test::engine("vllm")).time;
    };
    const TimeEstimate with = time_of();
    dense.routing = {};
    CHECK(with.expected == time_of().expected);
}

TEST_CASE("routing is written as it is read", "[spec]") {
    for (const char* text : {"uniform", "balanced", "power-law:1.2", "power-law:0"}) {
        REQUIRE(routing_of(text));
        CHECK(to_string(*routing_of(text)) == text);
    }
    for (const char* text : {"", "power-law", "power-law:", "power-law:nan", "power-law:-1", "power-law:2.1",
                             "power-law:1x", "Uniform"})
        CHECK(!routing_of(text));
}
