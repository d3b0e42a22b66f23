// SPDX-License-Identifier: Apache-2.0
#include "io/start_log.h"

#include "base/diagnostic.h"
#include "catalogue.h"
#include "io/learned_engine.h"
#include "memory/ledger.h"
#include "spec/engine_version.h"

#include <filesystem>
#include <fstream>

using namespace headroom;

namespace {

std::string written(const std::string& name, const std::string& text) {
    const std::string path = (std::filesystem::temp_directory_path() / name).string();
    std::ofstream(path) << text;
    return path;
}

const char* const kLog =
    "(APIServer pid=7) INFO 01-02 03:04:05 [utils.py:1] non-default args: {'model': 'acme/llama', "
    "'gpu_memory_utilization': 0.8, 'max_num_seqs': 64, 'tensor_parallel_size': 2}\n"
    "(EngineCore pid=8) INFO 01-02 03:04:06 [core.py:1] Initializing a V1 LLM engine (v0.18.2) with config: "
    "model='acme/llama', max_seq_len=4096, tensor_parallel_size=2, pipeline_parallel_size=1\n"
    "(Worker_TP0 pid=9) DEBUG 01-02 [w.py:1] worker init memory snapshot: total_memory=80.00GiB, "
    "non_torch_memory=0.51GiB\n"
    "(Worker_TP0 pid=9) INFO 01-02 [m.py:1] Model loading took 7.50 GiB memory and 4.2 seconds\n"
    "(Worker_TP0 pid=9) DEBUG [w.py:2] Memory profiling takes 3.00 seconds. Total non KV cache memory: "
    "12.00GiB; torch peak memory increase: 2.50GiB; non-torch forward increase memory: 1.00GiB; weights "
    "memory: 7.50GiB.\n"
    "(Worker_TP0 pid=9) INFO [w.py:3] Available KV cache memory: 53.00 GiB\n"
    "(Worker_TP1 pid=9) INFO [w.py:3] Available KV cache memory: 52.90 GiB\n"
    "(EngineCore pid=8) INFO [k.py:1] GPU KV cache size: 866,624 tokens\n"
    "(EngineCore pid=8) INFO [k.py:2] Maximum concurrency for 4,096 tokens per request: 211.58x\n";

std::string message_of(const std::string& path) {
    try {
        read_start_log(path);
    } catch (const InputError& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a start-up log gives its figures with their lines", "[io]") {
    const StartLog log = read_start_log(written("headroom-start.log", kLog));
    CHECK(log.version == "0.18.2");
    CHECK(log.model == "acme/llama");
    REQUIRE(log.tp);
    CHECK(log.tp->value == 2);
    REQUIRE(log.utilisation);
    CHECK(log.utilisation->value == 0.8);
    CHECK(log.utilisation->line == 1);
    REQUIRE(log.total);
    CHECK(test::near(log.total->value, (80.0 * GiB).base()));
    CHECK(log.activation->line == 5);
    CHECK(test::near(log.kv->value, (52.9 * GiB).base()));  // the worker with the least room
    CHECK(log.kv->line == 7);
    CHECK(log.kv_tokens->value == 866624);
    CHECK(log.max_context->value == 4096);
}

TEST_CASE("a learned profile loads and leaves the room for KV that its log has", "[io]") {
    const std::string path = written("headroom-start.log", kLog);
    const StartLog log = read_start_log(path);
    const LearnedEngine learned = learn_engine(log, test::source("engines/vllm-0.19.yaml"));
    const std::string profile = written("headroom-learned.yaml", learned.yaml);
    const Engine e = read_engine(profile);
    CHECK(e.version == "0.18.2");
    CHECK(e.memory.utilisation.value == 0.8);
    CHECK(e.memory.utilisation.source == "log");
    CHECK(e.scheduler.max_sequences.value == 64);
    REQUIRE(e.memory.activation_peak);
    const Bytes runtime = e.memory.runtime_by_tp.at(2).value;
    // 80 GiB x 0.8 - 7.5 - 2.5 - 52.9.
    CHECK(test::near(runtime.base(), (1.1 * GiB).base(), 1e-3));
    CHECK(test::near((0.8 * 80 * GiB - 7.5 * GiB - e.memory.activation_peak->value - runtime).base(),
                     log.kv->value, 1e-4));
    // Everything else is the base profile's.
    const Engine base = test::engine("vllm-0.19");
    CHECK(e.time.per_step.expected == base.time.per_step.expected);
    CHECK(e.memory.runtime_by_tp.at(1).value == base.memory.runtime_by_tp.at(1).value);
    CHECK(learned.yaml.find("line 7") != std::string::npos);
    // A learned profile can be learned upon.
    const LearnedEngine again = learn_engine(log, profile);
    CHECK(read_engine(written("headroom-again.yaml", again.yaml)).memory.utilisation.source == "log-again");
}

TEST_CASE("older wordings of the same figures are read", "[io]") {
    const StartLog log = read_start_log(written(
        "headroom-v0.log",
        "INFO 01-13 11:35:10 llm_engine.py:234] Initializing an LLM engine (v0.6.6) with config: "
        "model='acme/one', max_seq_len=8192, tensor_parallel_size=1\n"
        "INFO 01-13 model_runner.py:1099] Loading model weights took 10.0000 GB\n"
        "INFO 01-13 worker.py:241] the current vLLM instance can use total_gpu_memory (40.00GiB) x "
        "gpu_memory_utilization (0.90) = 36.00GiB\n"
        "INFO 01-13 worker.py:241] model weights take 10.00GiB; non_torch_memory takes 0.10GiB; PyTorch "
        "activation peak memory takes 1.20GiB; the rest of the memory reserved for KV Cache is 24.70GiB.\n"
        "INFO 01-13 gpu_executor.py:76] # GPU blocks: 12646, # CPU blocks: 2048\n"));
    CHECK(log.version == "0.6.6");
    CHECK(log.blocks->value == 12646);
    CHECK(test::near(log.non_torch->value, (0.1 * GiB).base()));
    CHECK(test::near(log.weights->value, (10.0 * GiB).base()));
    CHECK(test::near(log.kv->value, (24.7 * GiB).base()));
}

TEST_CASE("what is no whole start-up log is refused with its place", "[io]") {
    const std::string whole = kLog;
    const std::string empty = written("headroom-empty.log", "");
    CHECK(message_of(empty) == empty + ": error: is empty");
    const std::string foreign = written("headroom-foreign.log", "hello\nworld\n");
    CHECK(message_of(foreign).find(foreign + ":1:1: error: none of its 2 lines") == 0);
    const std::string cut =
        written("headroom-cut.log", whole.substr(0, whole.find("(Worker_TP0 pid=9) INFO [w.py:3]")));
    CHECK(message_of(cut).find(cut + ":5:1: error: ends before \"Available KV cache memory\"") == 0);
    const std::string failed =
        written("headroom-failed.log",
                whole.substr(0, whole.find("(Worker_TP1")) + "INFO Available KV cache memory: -0.94 GiB\n");
    CHECK(message_of(failed).find(failed + ":7:1: error: -0.94 GiB are left") == 0);
    const std::string two =
        written("headroom-two.log", whole + "INFO Model loading took 60.00 GiB memory and 1 seconds\n");
    CHECK(message_of(two).find("are these two starts in one file?") != std::string::npos);
    // Blocks alone do not say how memory was divided.
    const std::string old = written("headroom-old.log",
                                    "INFO llm_engine.py:196] Initializing an LLM engine (v0.2.2)\n"
                                    "INFO llm_engine.py:196] # GPU blocks: 865, # CPU blocks: 327\n");
    CHECK(message_of(old).find(old + ":2:1: error: says how many blocks") == 0);
}

TEST_CASE("a version takes the newest profile that is not later", "[spec]") {
    const std::vector<ProfileSince> names{
        {"ideal", "1"}, {"vllm", "0.17"}, {"vllm-0.10", "0.8"}, {"vllm-0.19", "0.17"}, {"vllm-0.6", "0.6.5"}};
    CHECK(profile_not_later("0.18.1", names) == "vllm-0.19");
    CHECK(profile_not_later("0.16.2", names) == "vllm-0.10");
    CHECK(profile_not_later("0.7.1.post1", names) == "vllm-0.6");
    CHECK(profile_not_later("0.5.4", names).empty());
    CHECK(profile_not_later("1.0", names) == "vllm-0.19");
    CHECK(version_numbers("dev").empty());
}

TEST_CASE("profiles learned from real logs give the logged tokens of KV", "[outside]") {
    const std::string logs = test::outside_data().empty() ? "" : test::outside_data() + "/logs";
    if (logs.empty() || !std::filesystem::is_directory(logs)) {
        WARN("no start-up logs here; skipped");
        return;
    }
    struct Start {
        const char* log;
        const char* model;
        int tp;
    };
    for (const Start& start : {Start{"vllm-0.19-google-gemma-2-9b-it-tp1.log", "gemma-2-9b", 1},
                               Start{"vllm-0.19-mistralai-mixtral-8x7b-i-tp2.log", "mixtral-8x7b", 2},
                               Start{"vllm-0.19-openai-gpt-oss-20b-tp2.log", "gpt-oss-20b", 2}}) {
        INFO(start.log);
        const StartLog log = read_start_log(logs + "/" + start.log);
        const LearnedEngine learned = learn_engine(log, test::source("engines/vllm-0.19.yaml"));
        const Engine e = read_engine(written("headroom-real.yaml", learned.yaml));
        Deployment d;
        d.tp = start.tp;
        Hardware h = test::hardware("h100-sxm");
        h.memory.capacity.value = Bytes(log.total->value);
        const Capacity c = capacity(shard(test::model(start.model), d), h, e, log.max_context->value);
        INFO(c.capacity_tokens << " against " << log.kv_tokens->value);
        INFO("weights " << c.ledger.weights.in(GiB));
        // Kernels pad gpt-oss's mxfp4 experts, which the weights here do not: 0.6 GiB more of 71.
        const double tolerance = std::string(start.model) == "gpt-oss-20b" ? 0.012 : 0.005;
        CHECK(test::near(static_cast<double>(c.capacity_tokens), log.kv_tokens->value, tolerance));
    }
}

TEST_CASE("an engine may take its share of what weights, activations and runtime leave", "[memory]") {
    const Hardware h = test::hardware("h100-sxm");
    const Engine e = test::engine("trtllm");
    const Shard parts = shard(test::model("llama-3.1-8b"), Deployment{});
    const Ledger l = ledger(parts, 0, h, e);
    const Bytes free = l.device - l.weights - l.activations - l.runtime;
    CHECK(test::near(l.kv.base(), (e.memory.utilisation.value * free).base()));
    CHECK(test::near((l.weights + l.activations + l.runtime + l.kv).base(), l.usable.base()));
    // What does not fit is told as it is, not as a share of it.
    const Shard large = shard(test::model("llama-3-70b"), Deployment{});
    const Ledger none = ledger(large, 0, h, e);
    CHECK(none.kv < Bytes{});
    CHECK(test::near(none.kv.base(),
                     (h.memory.capacity.value - none.weights - none.activations - none.runtime).base()));
}

TEST_CASE("GPUs that only PCIe joins need no buffers for a link", "[memory]") {
    const Engine e = test::engine("vllm-0.10");
    Deployment d;
    d.tp = 8;
    const Shard parts = shard(test::model("llama-3.1-8b"), d);
    const Hardware l40s = test::hardware("l40s");
    REQUIRE(!l40s.scale_up);
    CHECK(ledger(parts, 0, l40s, e).runtime == e.memory.runtime_without_link->value);
    CHECK(ledger(parts, 0, test::hardware("h100-sxm"), e).runtime == e.memory.runtime_by_tp.at(8).value);
}
