// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "io/catalogue.h"
#include "io/engine_yaml.h"
#include "io/hardware_yaml.h"
#include "io/model_reader.h"
#include "memory/ledger.h"
#include "perf/step_time.h"
#include "validate/compare.h"
#include "validate/engine_fit.h"

#include <filesystem>
#include <fstream>

using namespace headroom;

namespace {

Profiles profiles() {
    const std::string data = test::source("");
    Profiles p;
    p.hardware = [data](const std::string& name) {
        return read_hardware(find_entry(data, "hwprofiles", name), data);
    };
    p.engine = [data](const std::string& name) { return read_engine(find_entry(data, "engines", name)); };
    p.model = [data](const std::string& name) { return read_model(find_entry(data, "models", name)).model; };
    p.engine_versions = [data] {
        std::vector<ProfileSince> found;
        for (const std::string& name : entry_names(data, "engines"))
            found.push_back({name, read_engine(find_entry(data, "engines", name)).since});
        return found;
    };
    return p;
}

ServingRun run(double concurrency, int tp, double output) {
    ServingRun r;
    r.engine = "vllm-0.19";
    r.model = "llama-3.1-8b";
    r.hardware = "h100-sxm";
    r.input = 1024;
    r.output = output;
    r.concurrency = concurrency;
    r.deployment.tp = tp;
    return r;
}

const CaseSummary* find(const std::vector<CaseSummary>& all, const std::string& group) {
    for (const CaseSummary& s : all) {
        if (s.group == group) return &s;
    }
    return nullptr;
}

}  // namespace

TEST_CASE("host time adds to a step when it takes turns and hides when it overlaps", "[perf]") {
    const Profiles p = profiles();
    const Hardware h = p.hardware("h100-sxm");
    const Shard parts = shard(p.model("llama-3.1-8b"), Deployment{});
    Engine engine = p.engine("ideal");
    const Seconds device = step_time(parts, decode_batch(64, 1024), h, engine).time.expected;
    engine.time.per_sequence.expected = (0.5 * device).base() / 64;
    engine.time.overlap = 1;
    CHECK(test::near(step_time(parts, decode_batch(64, 1024), h, engine).time.expected.base(),
                     1.5 * device.base(), 1e-6));
    engine.time.overlap = 8;
    const Seconds hidden = step_time(parts, decode_batch(64, 1024), h, engine).time.expected;
    CHECK(hidden > device);
    CHECK(hidden < 1.01 * device);
}

TEST_CASE("an engine's host times are found again from runs made with them", "[validate]") {
    const Profiles p = profiles();
    const Model model = p.model("llama-3.1-8b");
    const Hardware hardware = p.hardware("h100-sxm");
    Engine truth = p.engine("vllm-0.19");
    truth.time.per_step.expected = 2e-3;
    truth.time.per_sequence.expected = 30e-6;
    truth.time.per_prompt.expected = 2e-3;
    truth.time.overlap = 2;
    std::vector<ServingRun> runs;
    for (const double c : {4.0, 16.0, 32.0, 64.0, 128.0}) {
        for (const int tp : {1, 2, 8}) {
            for (const double output : {64.0, 128.0, 1024.0}) runs.push_back(run(c, tp, output));
        }
    }
    std::vector<ServedCase> cases;
    for (ServingRun& r : runs) {
        const ServingTimes t = serving_times(r, model, hardware, truth);
        r.tpot = t.tpot.expected;
        r.ttft = t.ttft.expected;
        cases.push_back({&r, &model, &hardware});
    }
    const Engine found = fit_engine_time(cases, p.engine("vllm-0.19"), usual_time());
    for (const ServedCase& c : cases) {
        const Seconds again = serving_times(*c.run, model, hardware, found).tpot.expected;
        CHECK(test::near(again.base(), c.run->tpot.base(), 0.05));
    }
    CHECK(std::abs(found.time.per_step.expected - 2e-3) < 0.7e-3);
}

TEST_CASE("the mean iteration is that of its two kinds of step, the host's part added to each",
          "[validate]") {
    const Profiles p = profiles();
    const Model model = p.model("llama-3.1-8b");
    const Hardware hardware = p.hardware("h100-sxm");
    const Engine engine = p.engine("trtllm");
    for (const double output : {64.0, 1024.0}) {
        const ServingRun r = run(128, 2, output);
        const ServedLoad s = served_load(r, model, hardware, engine);
        const IterationBatches b = iteration_batches(s.parts, hardware, engine, s.load, s.batch);
        const auto step = [&](const Batch& batch) {
            const Seconds device = step_time(s.parts, batch, hardware, without_host(engine)).time.expected;
            return with_host(device, batch, engine);
        };
        const Seconds mean = (1 - b.share) * step(b.plain) + b.share * step(b.with_prompt);
        CHECK(test::near(mean.base(), serving_times(r, model, hardware, engine).tpot.expected.base(), 1e-9));
    }
}

TEST_CASE("a row of the published benchmark is read with its scripts' KV format, and no other row",
          "[validate]") {
    const std::string header =
        "id,backend,backend_version,model_path,system,mode,isl,osl,gemm_quant_mode,attention_dp_size,"
        "silicon_ttft_ms,silicon_tpot_ms,silicon_data_source\n";
    const auto read = [&](const std::string& engine, const std::string& model, const std::string& source) {
        const std::string row = "x_tp4," + engine + ",," + model + ",h200_sxm,agg,1024,1024,fp8,,90,10," +
                                source + "; silicon_concurrency=8\n";
        return serving_runs(parse_csv(header + row, "runs"), "runs")->at(0);
    };
    CHECK(read("trtllm", "meta-llama/Llama-3.1-70B", "wip=False").kv == "fp8");
    CHECK(read("vllm", "meta-llama/Llama-3.1-70B", "wip=False").kv == "fp8");
    CHECK(read("trtllm", "deepseek-ai/DeepSeek-R1", "wip=False").kv == "fp8");
    CHECK(read("sglang", "deepseek-ai/DeepSeek-R1", "wip=False").kv.empty());
    CHECK(read("trtllm", "openai/gpt-oss-120b", "wip=False").kv.empty());
    CHECK(read("trtllm", "meta-llama/Llama-3.1-70B", "other").kv.empty());
    const ServingRun skewed = read("vllm", "openai/gpt-oss-120b", "wip=False");
    CHECK(skewed.concurrency == 8);
    CHECK(served_model(skewed, profiles().model("gpt-oss-120b")).routing == kRandomTokens);
    CHECK(served_model(skewed, profiles().model("llama-3.1-8b")).routing == Routing{});
}

TEST_CASE("gemma-3-4b's layers form one full and six window groups of one pool", "[memory]") {
    // The start-up log of vLLM 0.19: 204,817 blocks are 468,144 tokens, so seven groups share them.
    const Profiles p = profiles();
    const ModelKv kv = kv_of(p.model("gemma-3-4b"));
    const PageLayout layout = engine_layout(kv, p.engine("vllm-0.19"));
    REQUIRE(layout.groups.size() == 7);
    CHECK(204817 / 7 * layout.block == 468144);
}

TEST_CASE("a kernel row that beats the floor is refused, named, and in no error", "[validate]") {
    const auto folder = std::filesystem::temp_directory_path() / "headroom-validate-test";
    std::filesystem::create_directories(folder);
    const std::string file = (folder / "gemm.csv").string();
    std::ofstream(file)
        << "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
           "VLLM,0.14.0,NVIDIA H100 80GB HBM3,gemm,vllm_default,bfloat16,8192,8192,8192,1.5\n"
           "VLLM,0.14.0,NVIDIA H100 80GB HBM3,gemm,vllm_default,bfloat16,8192,8192,8192,0.5\n";
    const ValidateAnswer answer = compare({file}, profiles());
    std::filesystem::remove_all(folder);
    REQUIRE(answer.cases.size() == 2);
    CHECK(answer.cases[0].refused.empty());
    CHECK_FALSE(answer.cases[1].refused.empty());
    REQUIRE(answer.groups.size() == 1);
    CHECK(answer.groups[0].errors.rows == 1);
    CHECK(answer.groups[0].below_floor == 1);
    CHECK(answer.cases[0].predicted.floor <= answer.cases[0].predicted.low);
}

namespace {

ValidateAnswer compare_text(const std::string& name, const std::string& text, const Profiles& p) {
    const auto folder = std::filesystem::temp_directory_path() / "headroom-forced-test";
    std::filesystem::create_directories(folder);
    const std::string file = (folder / name).string();
    std::ofstream(file) << text;
    ValidateAnswer answer = compare({file}, p);
    std::filesystem::remove_all(folder);
    return answer;
}

}  // namespace

TEST_CASE("a device and an engine that were asked for replace those of every kind of file", "[validate]") {
    const std::string single =
        R"({"id": "a", "kind": "decode_single_stream", "model": "Meta-Llama-3-8B", "hardware": "RTX 3090 24GB",)"
        R"( "weight_dtype": "f16", "engine": "llama.cpp", "input_tokens": 0, "output_tokens": 512,)"
        R"( "value": 40})";
    const std::string memory =
        R"({"kind": "kv_capacity", "model": "meta-llama-3-8b", "hardware": "A100 40GB", "engine": "vLLM 0.19.0",)"
        R"( "weight_dtype": "bf16", "total_gpu_memory_gib": 39.4, "value": 130000, "unit": "tokens"})";
    const std::string served =
        "id,backend,backend_version,mode,model_path,system,isl,osl,attention_dp_size,gemm_quant_mode,"
        "silicon_data_source,silicon_ttft_ms,silicon_tpot_ms\n"
        "x_tp1_0,vllm,0.18.0,agg,meta-llama/Llama-3.1-8B,h100_sxm,1024,512,1,bfloat16,"
        "silicon_concurrency=4,60,8\n";
    const Profiles told = profiles();
    Profiles hardware = told, engine = told;
    hardware.forced_hardware = "l4";
    engine.forced_engine = "sglang";
    for (const auto& [name, text] : {std::pair{"single.jsonl", single}, {"runs.csv", served}}) {
        INFO(name);
        const Seconds as_told = compare_text(name, text, told).cases.at(0).predicted.expected;
        CHECK(compare_text(name, text, hardware).cases.at(0).predicted.expected > 2 * as_told);
        CHECK_FALSE(test::near(compare_text(name, text, engine).cases.at(0).predicted.expected.base(),
                               as_told.base(), 0.001));
    }
    const auto tokens = [&](const Profiles& p) {
        return compare_text("memory.jsonl", memory, p).capacities.at(0).predicted;
    };
    CHECK(tokens(hardware) < 0.5 * tokens(told));
    CHECK(compare_text("runs.csv", served, told).notes.empty());
    REQUIRE(compare_text("runs.csv", served, hardware).notes.size() == 1);
    CHECK(compare_text("runs.csv", served, hardware).notes[0].find("l4, as --hw says") != std::string::npos);
    CHECK_FALSE(test::near(tokens(engine), tokens(told), 0.001));
}

TEST_CASE("start-up memory of vLLM: weights and KV tokens as its logs say", "[outside]") {
    const std::string data = test::outside_data();
    if (data.empty()) {
        WARN("no outside data: skipped");
        return;
    }
    const ValidateAnswer answer = compare({data + "/measured/kv-capacity.jsonl"}, profiles());
    for (const auto& [group, rows] : {std::pair{"vllm-0.19 KV tokens", 21},
                                      {"vllm-0.10 KV tokens", 3},
                                      {"vllm-0.10 KV bytes", 4},
                                      {"vllm-0.6 KV tokens", 4},
                                      {"vllm-0.6 KV bytes", 2}}) {
        INFO(group);
        const CaseSummary* kv = find(answer.capacity_groups, group);
        REQUIRE(kv != nullptr);
        CHECK(kv->errors.rows >= rows);
        CHECK(kv->errors.mean_abs <= 0.04);
        CHECK(kv->worst <= 0.10);
    }
    const CaseSummary* weights = find(answer.capacity_groups, "vllm-0.19 weights");
    REQUIRE(weights != nullptr);
    CHECK(weights->errors.median_abs <= 0.005);
}

TEST_CASE("served runs of dense models lie near their predictions, nine in ten inside the interval",
          "[outside]") {
    const std::string data = test::outside_data();
    if (data.empty()) {
        WARN("no outside data: skipped");
        return;
    }
    const ValidateAnswer answer = compare({data + "/measured/serving/runs.csv"}, profiles());
    for (const char* group :
         {"vllm-0.10 llama-3.1-70b TPOT", "vllm-0.19 gpt-oss-120b TPOT", "trtllm llama-3.1-8b TPOT",
          "trtllm llama-3.1-70b TPOT", "sglang llama-3.1-8b TPOT"}) {
        INFO(group);
        const CaseSummary* s = find(answer.groups, group);
        REQUIRE(s != nullptr);
        CHECK(s->errors.mean_abs <= 0.12);
        CHECK(s->errors.median_abs <= 0.08);
        CHECK(s->inside_interval >= 0.9);
    }
}
