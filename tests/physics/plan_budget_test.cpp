// SPDX-License-Identifier: Apache-2.0
#include "physics/serving.h"
#include "planner/plan.h"
#include "report/emit.h"

using namespace headroom;
using namespace headroom::test;

namespace {

PlanQuestion question(const std::string& name, const std::string& engine_name = "vllm") {
    PlanQuestion q;
    q.question.model = model(name);
    q.question.engine = engine(engine_name);
    q.question.echo.model = name;
    q.variants = {{"bf16", "bf16", q.question.model, false}};
    q.offers = {{hardware("h100-sxm"), std::nullopt}};
    q.workload.rate = 10 * hertz;
    q.workload.input_tokens = {3000, 2000, 2500, 6000, 9000, 12000};
    q.workload.output_tokens = {200, 100, 180, 350, 500, 600};
    q.rates = {10 * hertz};
    return q;
}

}  // namespace

TEST_CASE("a smaller token budget holds gaps with fewer GPUs, and first tokens come later", "[planner]") {
    PlanQuestion q = question("llama-3-8b");
    q.objectives.itl = 30 * ms;
    const PlanAnswer searched = plan(q);
    q.budgets = {8192};
    const PlanAnswer own = plan(q);
    REQUIRE(searched.plan.best);
    const Candidate& best = searched.plan.candidates[*searched.plan.best];
    CHECK(best.decode.budget < 8192);
    CHECK((!own.plan.best || own.plan.candidates[*own.plan.best].gpus > best.gpus));
    CHECK(best.itl_tail <= 30 * ms);
    // Of one deployment at one load.
    const Shard part = shard(model("llama-3-8b"), {});
    Engine e = engine("vllm");
    Load load = load_of(q.workload, 0.99);
    load.rate = 4 * hertz;
    const SteadyState large = steady_state(part, hardware("h100-sxm"), e, load);
    e.scheduler.max_batched_tokens.value = 512;
    const SteadyState small = steady_state(part, hardware("h100-sxm"), e, load);
    CHECK(small.itl_tail < large.itl_tail);
    CHECK(small.ttft_mean > large.ttft_mean);
}

TEST_CASE("a budget is not searched without a reason", "[planner]") {
    Objectives o;
    CHECK(sensible_budgets(engine("vllm"), o).size() == 1);
    o.ttft = 1 * second;
    CHECK(sensible_budgets(engine("vllm"), o).size() == 1);
    o.itl = 50 * ms;
    CHECK(sensible_budgets(engine("vllm"), o).size() == 3);
    Engine whole = engine("vllm");
    whole.scheduler.chunked_prefill = false;
    CHECK(sensible_budgets(whole, o).size() == 1);
}

TEST_CASE("a search of hundreds of candidates says what became of them", "[planner]") {
    PlanQuestion q = question("llama-3-70b");
    for (const char* device : {"h200", "a100-sxm-80gb", "l4"})
        q.offers.push_back({hardware(device), std::nullopt});
    for (const char* kv : {"fp8", "int8", "int4"}) {
        Model m = q.question.model;
        m.kv_format = storage_format(kv);
        q.variants.push_back({"bf16", kv, std::move(m), false});
    }
    q.pools = true;
    q.objectives.ttft = 3 * second;
    q.objectives.itl = 25 * ms;
    std::size_t told = 0, of = 0;
    q.progress = [&](std::size_t done, std::size_t all) {
        CHECK(done == told + 1);
        told = done;
        of = all;
    };
    q.requests = [] { return traffic(2000, 10, 2000, 150); };
    const PlanAnswer a = plan(q);
    const SearchCounts& c = a.plan.counts;
    // 4 devices, 4 precisions, 12 deployments, 3 roles, 3 budgets
    CHECK(c.considered == 4 * 4 * 12 * 3 * 3);
    CHECK(static_cast<std::int64_t>(told) == c.considered);
    CHECK(told == of);
    CHECK(c.unfit > 0);
    CHECK(c.pruned > 0);
    CHECK(c.unfit + c.pruned < c.considered);
    CHECK(c.pairs > 0);
    REQUIRE(a.plan.verification);
    CHECK(c.simulated == a.plan.verification->simulations);
}

TEST_CASE("what is emitted starts the plan that was chosen", "[planner]") {
    const auto text = [](const char* engine_name, const char* target, bool pools) {
        PlanQuestion q = question("llama-3-70b", engine_name);
        q.deployments = {{.tp = 4}};
        q.budgets = {2048};
        q.pools = pools;
        q.together = !pools;
        return emit_commands(plan(q), target);
    };
    const auto has = [](const std::string& all, const std::string& part) {
        INFO(all);
        CHECK(all.find(part) != std::string::npos);
    };
    const std::string vllm = text("vllm", "vllm", false);
    has(vllm, "--tensor-parallel-size 4");
    has(vllm, "--max-num-batched-tokens 2048");
    has(vllm, "--max-model-len 8192");  // the model's own limit
    const std::string sglang = text("sglang", "sglang", true);
    has(sglang, "--disaggregation-mode prefill");
    has(sglang, "--disaggregation-mode decode");
    has(sglang, "--chunked-prefill-size 2048");
    const std::string trtllm = text("trtllm", "trtllm", true);
    has(trtllm, "--max_num_tokens 2048");
    has(trtllm, "--extra_llm_api_options decode.yaml");
    has(trtllm, "cache_transceiver_config:\n  backend: DEFAULT\n");
    has(trtllm, "tokens_per_block: 32\n");
}

TEST_CASE("what is emitted names the checkpoint and who guesses", "[planner]") {
    const auto text = [](const char* target, bool drafts) {
        PlanQuestion q = question("llama-3-70b", "vllm");
        q.deployments = {{.tp = 4}};
        Speculation guessing;
        guessing.guesses = 3;
        guessing.accept_low = guessing.accept = guessing.accept_high = 0.6;
        if (drafts) guessing.draft = std::make_shared<const Model>(model("llama-3-8b"));
        q.question.model.speculation = guessing;
        for (Variant& v : q.variants) v.model.speculation = guessing;
        q.variants[0].weights = "int4";
        q.variants[0].quantized = true;
        return emit_commands(plan(q), target);
    };
    const auto has = [](const std::string& all, const std::string& part) {
        INFO(all);
        CHECK(all.find(part) != std::string::npos);
    };
    const std::string vllm = text("vllm", true);
    has(vllm, "vllm serve meta-llama/Meta-Llama-3-70B ");
    has(vllm, R"(--speculative-config '{"model":"meta-llama/Meta-Llama-3-8B","num_speculative_tokens":3}')");
    has(vllm, "# the checkpoint must be one with int4 weights");
    has(text("vllm", false), R"({"method":"ngram","prompt_lookup_max":4,"num_speculative_tokens":3})");
    has(text("sglang", true), "--speculative-draft-model-path meta-llama/Meta-Llama-3-8B");
    has(text("sglang", false), "--speculative-algorithm NGRAM --speculative-num-draft-tokens 4");
    has(text("trtllm", false), "speculative_config:\n  decoding_type: NGram\n  max_draft_len: 3\n");
}
