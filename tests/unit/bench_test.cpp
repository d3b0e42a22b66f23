// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.h"
#include "catalogue.h"
#include "ops/tensor.h"
#include "validate/bench_result.h"
#include "validate/compare.h"
#include "validate/gguf.h"
#include "validate/published_rates.h"

#include <filesystem>
#include <fstream>

using namespace headroom;

namespace {

Profiles bench_profiles() {
    Profiles p;
    p.hardware = [](const std::string& name) { return test::hardware(name); };
    p.engine = [](const std::string& name) { return test::engine(name); };
    p.model = [](const std::string& name) {
        if (!std::filesystem::exists(test::source("models/" + name + ".yaml"))) refuse("", "", "no " + name);
        return test::model(name);
    };
    p.engine_versions = [] { return std::vector<ProfileSince>{{"vllm-0.10", "0.8"}, {"vllm-0.19", "0.17"}}; };
    return p;
}

std::string written(const std::string& name, const std::string& text) {
    const std::string path = (std::filesystem::temp_directory_path() / name).string();
    std::ofstream(path) << text;
    return path;
}

const MeasuredCase* named(const ValidateAnswer& answer, const std::string& what) {
    for (const MeasuredCase& c : answer.cases) {
        if (c.group.ends_with(" " + what)) return &c;
    }
    return nullptr;
}

std::string message_of(const std::string& path, const Profiles& p) {
    try {
        compare({path}, p);
    } catch (const InputError& e) {
        return e.what();
    }
    return "";
}

const char* const kVllm =
    R"({"date": "20260102-030405", "endpoint_type": "vllm", "backend": "vllm", "model_id": "meta-llama/Llama-3.1-8B-Instruct",
 "num_prompts": 400, "request_rate": "inf", "max_concurrency": 32, "duration": 100.0, "completed": 400,
 "total_input_tokens": 409600, "total_output_tokens": 102400, "request_throughput": 4.0, "output_throughput": 3000.0,
 "mean_ttft_ms": 120.0, "mean_tpot_ms": 10.5, "mean_itl_ms": 10.6})";

const char* const kSglang =
    R"({"backend": "sglang", "dataset_name": "random", "request_rate": 4.0, "max_concurrency": null, "duration": 50.0, "completed": 200, "total_input_tokens": 204800, "total_output_tokens": 51200, "total_output_tokens_retokenized": 51190, "request_throughput": 4.0, "output_throughput": 1024.0, "mean_e2e_latency_ms": 2500.0, "mean_ttft_ms": 80.0, "mean_tpot_ms": 9.5, "mean_itl_ms": 9.4, "concurrency": 10.0, "accept_length": null}
)";

const char* const kAiperf =
    R"({"request_throughput": {"unit": "requests/sec", "avg": 2.0}, "request_latency": {"unit": "ms", "avg": 2600.0},
 "time_to_first_token": {"unit": "ms", "avg": 90.0, "p50": 88.0}, "inter_token_latency": {"unit": "ms", "avg": 9.8},
 "output_token_throughput": {"unit": "tokens/sec", "avg": 512.0}, "input_sequence_length": {"unit": "tokens", "avg": 1000.0},
 "output_sequence_length": {"unit": "tokens", "avg": 256.0}, "request_count": {"unit": "requests", "avg": 100.0},
 "input_config": {"endpoint": {"model_names": ["llama-3.1-8b"]}, "loadgen": {"concurrency": 6}}})";

const char* const kAiperfCsv =
    "Metric,avg,min,max,p99\n"
    "Time to First Token (ms),90.00,70.00,150.00,149.00\n"
    "Inter Token Latency (ms),9.80,9.00,11.00,10.90\n"
    "Request Latency (ms),\"2,600.00\",\"2,000.00\",\"3,000.00\",\"2,990.00\"\n"
    "Output Sequence Length (tokens),256.00,256.00,256.00,256.00\n"
    "Input Sequence Length (tokens),\"1,000.00\",\"1,000.00\",\"1,000.00\",\"1,000.00\"\n"
    "\n"
    "Metric,Value\n"
    "Output Token Throughput (tokens/sec),512.00\n"
    "Request Throughput (requests/sec),2.00\n"
    "Request Count,100.00\n";

const char* const kTrtllm =
    R"({"engine": {"model": "meta-llama/Llama-3.1-8B", "version": "1.0.0", "backend": "Pytorch", "quantization": "FP8", "kv_cache_dtype": "FP8"},
 "machine": {"name": "NVIDIA H100 80GB HBM3"}, "world_info": {"tp_size": 1, "pp_size": 1, "ep_size": null},
 "request_info": {"num_requests": 500, "avg_num_concurrent_requests": 64.0, "avg_input_length": 1000, "avg_output_length": 200},
 "performance": {"request_throughput_req_s": 30.0, "system_output_throughput_tok_s": 6000.0},
 "streaming_metrics": {"avg_ttft_ms": 150.0, "avg_tpot_ms": 9.0}})";

const char* const kTrtllmText =
    "===========================================================\n"
    "= PYTORCH BACKEND\n"
    "===========================================================\n"
    "Model:\t\t\tmeta-llama/Llama-3.1-8B\n"
    "TensorRT-LLM Version:\t1.0.0\n"
    "Quantization:\t\tFP8\n"
    "===========================================================\n"
    "= WORLD + RUNTIME INFORMATION\n"
    "TP Size:                2\n"
    "EP Size:                None\n"
    "= REQUEST DETAILS\n"
    "Number of requests:             500\n"
    "Number of concurrent requests:  64.0000\n"
    "Average Input Length (tokens):  1000.0000\n"
    "Average Output Length (tokens): 200.0000\n"
    "= PERFORMANCE OVERVIEW\n"
    "Request Throughput (req/sec):                     45.0000\n"
    "Total Output Throughput (tokens/sec):             9000.0000\n"
    "Average time-to-first-token [TTFT] (ms):          100.0000\n"
    "Average time-per-output-token [TPOT] (ms):        6.5000\n";

const char* const kLlamaTable =
    "  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes\n"
    "| model                          |       size |     params | backend    | ngl |          test |         "
    "         t/s |\n"
    "| ------------------------------ | ---------: | ---------: | ---------- | --: | ------------: | "
    "-------------------: |\n"
    "| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 |         pp512 |      "
    "3900.00 ± 12.00 |\n"
    "| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 |         tg128 |        "
    "115.00 ± 0.20 |\n"
    "| llama 8B Q4_K - Medium         |   4.58 GiB |     8.03 B | CUDA       |  99 | tg128 @ d4096 |        "
    "900.00 ± 0.20 |\n";

}  // namespace

TEST_CASE("vLLM's benchmark: model and load from the file, the device from an option", "[validate]") {
    const std::string path = written("headroom-vllm.json", kVllm);
    Profiles p = bench_profiles();
    CHECK(message_of(path, p).find("--hw: is needed: the vLLM bench serve result names no device") !=
          std::string::npos);
    p.forced_hardware = "h100-sxm";
    const ValidateAnswer answer = compare({path}, p);
    REQUIRE(answer.cases.size() == 4);
    const MeasuredCase* tpot = named(answer, "TPOT");
    REQUIRE(tpot != nullptr);
    CHECK(test::near(tpot->measured.base(), 10.5e-3));
    CHECK(tpot->group == "vllm llama-3.1-8b TPOT");
    CHECK(tpot->refused.empty());
    CHECK(named(answer, "TTFT")->not_counted.empty());
    CHECK(test::near(named(answer, "throughput")->measured.base(), 1.0 / 3000));
    // No parallelism in the file: one GPU is taken, and said.
    REQUIRE(answer.notes.size() == 1);
    CHECK(answer.notes[0].find("(--tp)") != std::string::npos);
    p.deployment = Deployment{.tp = 2};
    const ValidateAnswer two = compare({path}, p);
    CHECK(two.notes.empty());
    CHECK(named(two, "TPOT")->predicted.floor < tpot->predicted.floor);
}

TEST_CASE("a result without model, device, engine and load names all four options at once", "[validate]") {
    std::string csv = kAiperfCsv;
    csv.replace(csv.find("Request Throughput"), csv.size(), "Request Count,100.00\n");
    const std::string message = message_of(written("headroom-bare.csv", csv), bench_profiles());
    for (const char* option : {"--model", "--hw", "--engine", "--concurrency"}) {
        INFO(option);
        CHECK(message.find(option) != std::string::npos);
    }
}

TEST_CASE("results that beat the floor are refused and named", "[validate]") {
    std::string text = kVllm;
    text.replace(text.find("\"mean_tpot_ms\": 10.5"), 20, "\"mean_tpot_ms\": 1.05");
    Profiles p = bench_profiles();
    p.forced_hardware = "h100-sxm";
    const ValidateAnswer answer = compare({written("headroom-fast.json", text)}, p);
    CHECK(named(answer, "TPOT")->refused.find("faster than its floor") == 0);
    CHECK(named(answer, "ITL")->refused.empty());
}

TEST_CASE("SGLang's lines take the measured concurrency, and several runs are several results",
          "[validate]") {
    const auto results = bench_results(std::string(kSglang) + kSglang, "two.jsonl");
    REQUIRE(results);
    REQUIRE(results->size() == 2);
    const BenchResult& r = results->back();
    CHECK(r.where == "two.jsonl:2");
    CHECK(r.engine == "sglang");
    CHECK(r.concurrency == 10);
    CHECK(r.input == 1024);
    CHECK(r.output == 256);
    CHECK(r.doubt.empty());
    CHECK_THROWS_AS(bench_results(std::string(kSglang) + "{\"backend\": \"sgl", "cut.jsonl"), InputError);
    try {
        bench_results(std::string(kSglang) + "{\"backend\": \"sgl", "cut.jsonl");
    } catch (const InputError& e) {
        CHECK(std::string(e.what()).find("cut.jsonl:2:1: error: ") == 0);
    }
}

TEST_CASE("AIPerf's JSON and CSV of one run read alike", "[validate]") {
    const auto json = bench_results(kAiperf, "a.json");
    const auto csv = bench_results(kAiperfCsv, "a.csv");
    REQUIRE(json);
    REQUIRE(csv);
    const BenchResult& a = json->front();
    const BenchResult& b = csv->front();
    CHECK(a.model == "llama-3.1-8b");
    CHECK(b.model.empty());
    CHECK(a.concurrency == 6);
    CHECK(test::near(b.concurrency, 2.0 * 2.6));  // requests per second times latency
    CHECK(a.tpot == b.tpot);
    CHECK(a.ttft == b.ttft);
    CHECK(a.input == b.input);
    CHECK(a.output_rate == b.output_rate);
}

TEST_CASE("trtllm-bench's report is read as JSON and as printed", "[validate]") {
    const auto json = bench_results(kTrtllm, "t.json");
    const auto text = bench_results(kTrtllmText, "t.txt");
    REQUIRE(json);
    REQUIRE(text);
    CHECK(json->front().device == "NVIDIA H100 80GB HBM3");
    CHECK(json->front().weights == "fp8");
    CHECK(json->front().kv == "fp8");
    CHECK(json->front().concurrency == 64);
    CHECK(text->front().tp == 2);
    CHECK(text->front().ep == 0);
    CHECK(text->front().model == "meta-llama/Llama-3.1-8B");
    CHECK(test::near(text->front().tpot.base(), 6.5e-3));
    // Nothing is missing here: model, device, engine and degrees are all in the file.
    const ValidateAnswer answer = compare({written("headroom-trt.json", kTrtllm)}, bench_profiles());
    CHECK(named(answer, "TPOT") != nullptr);
    CHECK(answer.notes.empty());
    std::string cut = kTrtllmText;
    cut.resize(cut.find("Total Output"));
    CHECK_THROWS_AS(bench_results(cut, "t.txt"), InputError);
}

TEST_CASE("llama-bench's table, JSON and CSV give rates of a weight type", "[validate]") {
    const std::string path = written("headroom-llama.md", kLlamaTable);
    Profiles p = bench_profiles();
    CHECK(message_of(path, p).find("--model: is needed: \"llama 8B Q4_K - Medium\" is no name in models/") !=
          std::string::npos);
    p.forced_model = "llama-3-8b";
    const ValidateAnswer answer = compare({path}, p);
    REQUIRE(answer.cases.size() == 3);
    const MeasuredCase* tg = named(answer, "tg128");
    REQUIRE(tg != nullptr);
    CHECK(tg->tokens == 128);
    CHECK(test::near(tg->measured.base(), 128 / 115.0));
    CHECK(std::abs(tg->error) < 0.15);
    CHECK(named(answer, "tg128 @ d4096")->refused.find("faster than its floor") == 0);
    const auto json = bench_results(
        R"([{"model_type": "llama 8B F16", "gpu_info": "NVIDIA A40", "n_prompt": 0, "n_gen": 64, "n_depth": 16, "n_ubatch": 512, "avg_ts": 34.5, "avg_ns": 1}])",
        "l.json");
    const auto csv = bench_results(
        "model_type,gpu_info,n_ubatch,n_prompt,n_gen,n_depth,avg_ns,avg_ts\n"
        "\"llama 8B F16\",\"NVIDIA A40\",\"512\",\"0\",\"64\",\"16\",\"1\",\"34.5\"\n",
        "l.csv");
    REQUIRE(json);
    REQUIRE(csv);
    for (const auto& results : {*json, *csv}) {
        CHECK(results[0].weights == "F16");
        CHECK(results[0].output == 64);
        CHECK(results[0].depth == 16);
        CHECK(results[0].rate == 34.5);
    }
}

TEST_CASE("GGUF sizes follow from the block formats", "[validate]") {
    CHECK(gguf_bits("Q4_K") == 4.5);
    CHECK(gguf_bits("Q6_K") == 6.5625);
    CHECK(gguf_bits("Q8_0") == 8.5);
    CHECK(gguf_type("llama 70B Q5_K - Small") == "Q5_K_S");
    CHECK(gguf_type("llama 7B mostly Q4_0") == "Q4_0");
    // File sizes that llama.cpp prints: Llama-3-8B 4.58 GiB, Llama-3-70B 39.59 GiB as Q4_K_M; 14.96 as F16.
    CHECK(test::near(weight_bytes(with_gguf(test::model("llama-3-8b"), "Q4_K_M")).in(GiB), 4.58, 0.003));
    CHECK(test::near(weight_bytes(with_gguf(test::model("llama-3-70b"), "Q4_K_M")).in(GiB), 39.59, 0.003));
    CHECK(test::near(weight_bytes(with_gguf(test::model("llama-3-8b"), "F16")).in(GiB), 14.96, 0.003));
    CHECK_THROWS_AS(with_gguf(test::model("llama-3-8b"), "Q9_X"), InputError);
}

TEST_CASE("a benchmark in a folder that lacks something is a note, not the end", "[validate]") {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / "headroom-bench-folder";
    fs::create_directories(folder);
    std::ofstream(folder / "run.json") << kVllm;
    std::ofstream(folder / "whole.json") << kTrtllm;
    const ValidateAnswer answer = compare({folder.string()}, bench_profiles());
    fs::remove_all(folder);
    REQUIRE(answer.notes.size() == 1);
    CHECK(answer.notes[0].find("--hw") != std::string::npos);
}

TEST_CASE("llama.cpp decodes as its law says, of models and devices that were not fitted", "[outside]") {
    if (test::outside_data().empty()) {
        WARN("no outside data: skipped");
        return;
    }
    const ValidateAnswer answer =
        compare({test::outside_data() + "/measured/single-stream.jsonl"}, bench_profiles());
    double sum = 0;
    int rows = 0;
    for (const CaseSummary& s : answer.groups) {
        INFO(s.group);
        CHECK(s.below_floor == 0);
        if (!s.group.ends_with("unseen rows")) continue;
        sum += s.errors.mean_abs * s.errors.rows;
        rows += s.errors.rows;
    }
    CHECK(rows >= 90);
    CHECK(sum / rows < 0.08);
}
