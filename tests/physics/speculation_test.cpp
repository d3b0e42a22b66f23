// SPDX-License-Identifier: Apache-2.0
#include "ops/speculation.h"

#include "catalogue.h"
#include "memory/ledger.h"
#include "perf/step_time.h"
#include "physics/models.h"
#include "serving/steady.h"
#include "serving/step_cost.h"

using namespace headroom;
using test::near;

namespace {

Model guessing(Model m, int guesses, double low, double high, std::shared_ptr<const Model> draft = nullptr) {
    m.speculation = Speculation{guesses, low, (low + high) / 2, high, std::move(draft), false};
    return m;
}

Model guessing(Model m, int guesses, double accept) {
    return guessing(std::move(m), guesses, accept, accept);
}

/// Seconds per token of a sequence.
double token_time(const Model& m, double batch, double context = 2048) {
    const StepTime t = step_time(shard(m, {.tp = 4}), decode_batch(batch, context),
                                 test::hardware("h100-sxm"), test::engine("vllm"));
    return t.time.expected.base() / t.tokens.expected;
}

double gain(double batch, int guesses, double accept) {
    const Model m = test::llama_3_70b();
    return token_time(m, batch) / token_time(guessing(m, guesses, accept), batch);
}

}  // namespace

TEST_CASE("a step gains the tokens before the first wrong guess, and one", "[physics][perf]") {
    CHECK(near(tokens_gained(3, 0.0), 1));
    CHECK(near(tokens_gained(3, 1.0), 4));
    for (const double a : {0.3, 0.7, 0.9})
        CHECK(near(tokens_gained(5, a), (1 - std::pow(a, 6)) / (1 - a)));  // Leviathan et al. 2023, eq. 1
}

TEST_CASE("guesses that are never right only cost", "[physics][perf]") {
    for (const double batch : {1.0, 16.0, 256.0}) CHECK(gain(batch, 4, 0) < 1);
}

TEST_CASE("guesses that are always right gain all their tokens where the weights bind", "[physics][perf]") {
    const Model m = guessing(test::llama_3_70b(), 3, 1);
    const Shard part = shard(m, {.tp = 4});
    CHECK(near(tokens_gained(part).expected, 4));
    CHECK(gain(1, 3, 1) > 3.5);
    CHECK(gain(1, 3, 1) <= 4);
}

TEST_CASE("the gain of guessing vanishes past the ridge", "[physics][perf]") {
    double before = 10;
    for (const double batch : {1.0, 64.0, 256.0, 1024.0}) {
        const double now = gain(batch, 4, 0.6);
        CHECK(now < before);
        before = now;
    }
    CHECK(gain(1, 4, 0.6) > 1.8);
    CHECK(gain(1024, 4, 0.6) < 1);  // five tokens are computed for two and a half
}

TEST_CASE("an interval of acceptance is an interval of the rate", "[physics][perf]") {
    const Model m = guessing(test::llama_3_70b(), 4, 0.5, 0.8);
    const Interval tokens = tokens_gained(m);
    CHECK(tokens.low < tokens.expected);
    CHECK(tokens.expected < tokens.high);
    const Shard part = shard(m, {.tp = 4});
    Load load;
    load.input = 1000;
    load.output = 500;
    load.context = 1250;
    const StepTime wide = mean_iteration(part, test::hardware("h100-sxm"), test::engine("vllm"), load, 8);
    const StepTime exact = mean_iteration(shard(guessing(test::llama_3_70b(), 4, 0.65), {.tp = 4}),
                                          test::hardware("h100-sxm"), test::engine("vllm"), load, 8);
    CHECK(near(wide.time.expected.base(), exact.time.expected.base(), 0.05));
    CHECK(wide.time.low < exact.time.low);
    CHECK(wide.time.high > exact.time.high);
}

TEST_CASE("a draft model costs time, weights and cache", "[physics][perf]") {
    const Model m = test::llama_3_70b();
    const auto small = std::make_shared<const Model>(test::llama_3_8b());
    const Model free = guessing(m, 4, 0.7), paid = guessing(m, 4, 0.7, 0.7, small);
    CHECK(token_time(paid, 1) > token_time(free, 1));
    const Shard with = shard(paid, {.tp = 4}), without = shard(m, {.tp = 4}),
                draft = shard(*small, {.tp = 4});
    CHECK(near((stage_weight_bytes(with, 0) - stage_weight_bytes(without, 0)).base(),
               stage_weight_bytes(draft, 0).base()));
    CHECK(near(growth(kv_of(with.stages[0])).base(),
               growth(kv_of(without.stages[0])).base() + growth(kv_of(draft.stages[0])).base()));
    const Hardware h = test::hardware("h100-sxm");
    const Engine e = test::engine("vllm");
    CHECK(capacity(with, h, e, 4096).max_sequences < capacity(without, h, e, 4096).max_sequences);
}

TEST_CASE("prediction layers draft with the model's own embedding and head", "[physics][perf]") {
    Model m = test::model("deepseek-v3");
    m.speculation = Speculation{2, 0.8, 0.8, 0.8, std::make_shared<const Model>(prediction_draft(m)), true};
    const Deployment d{.tp = 8};
    CHECK(speculation_fault(m, d).empty());
    const Shard part = shard(m, d), plain = shard(test::model("deepseek-v3"), d);
    const double more = (stage_weight_bytes(part, 0) - stage_weight_bytes(plain, 0)).base();
    // One layer of 61, with its experts, and no table of the vocabulary.
    CHECK(more > stage_weight_bytes(plain, 0).base() / 70);
    CHECK(more < stage_weight_bytes(plain, 0).base() / 50);
    const Interval tokens = tokens_gained(part);
    const auto step = [&](const Shard& s) {
        return step_time(s, decode_batch(4, 2048), test::hardware("h200"), test::engine("vllm"));
    };
    CHECK(step(part).time.expected > step(plain).time.expected);
    CHECK(step(part).time.expected.base() / tokens.expected < step(plain).time.expected.base());
}

TEST_CASE("the simulator's step per token is the step over its tokens", "[physics][perf][serving]") {
    const Hardware h = test::hardware("h100-sxm");
    const Engine e = test::engine("vllm");
    const Shard part = shard(guessing(test::llama_3_8b(), 3, 0.7), {});
    StepCosts costs(part, h, e);
    const StepShape decoding{4, 4096, {}}, mixed{2, 2048, {{512, 0, true}}};
    const double tokens = tokens_gained(3, 0.7);
    CHECK(near(costs(decoding).latency, costs.exact(decoding).latency / tokens));
    // The prompt's part is paid in full.
    const double alone = costs.exact({2, 2048, {}}).latency;
    CHECK(near(costs(mixed).latency, costs.exact(mixed).latency - alone + alone / tokens));
}

TEST_CASE("prompt and decode tokens share a step: less than apart, more than either", "[physics][perf]") {
    const Hardware h = test::hardware("h100-sxm");
    const Engine e = test::engine("ideal");
    const Shard part = shard(test::llama_3_8b(), {});
    Batch both = decode_batch(64, 2048);
    both.groups.push_back({.sequences = 1, .fresh = 512, .past = 0});
    const Seconds together = step_time(part, both, h, e).time.expected;
    const Seconds decode = step_time(part, decode_batch(64, 2048), h, e).time.expected;
    const Seconds prompt = step_time(part, prefill_batch(1, 512), h, e).time.expected;
    CHECK(together > decode);
    CHECK(together > prompt);
    CHECK(together < decode + prompt);  // the weights are read once
}
