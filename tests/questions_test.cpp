// SPDX-License-Identifier: Apache-2.0
// Questions and faults from public threads about weights, KV and parallelism, restated: what a user types and
// the right answer. Threads about scheduling, energy, MFU and peaks are other tests' subjects; so are those
// without a figure (vllm issues 17549 and 2048).
#include "program.h"

#include <filesystem>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

namespace {

using headroom::test::near;
using headroom::test::run_program;
using Json = nlohmann::json;
namespace fs = std::filesystem;

// Models that the catalogue does not have, by what their cards and configs say.
const std::map<std::string, const char*> kConfigs{
    {"mistral-nemo", R"({"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 14336,
        "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 131072, "max_position_embeddings": 131072})"},
    {"one-layer", R"({"model_type": "llama", "hidden_size": 7168, "intermediate_size": 18432,
        "num_hidden_layers": 1, "num_attention_heads": 64, "num_key_value_heads": 16, "head_dim": 128,
        "vocab_size": 32000})"},
    {"qwen1.5-7b", R"({"model_type": "qwen2", "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 151936})"},
    {"qwen3-14b", R"({"model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 17408,
        "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 151936})"},
    {"qwen2.5-14b", R"({"model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 13824,
        "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "vocab_size": 152064})"},
    {"qwen3-vl-32b", R"({"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text",
        "hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}})"},
    {"qwen3.5-122b-a10b", R"({"model_type": "qwen3_5_moe", "text_config": {"model_type": "qwen3_5_moe_text",
        "hidden_size": 3072, "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 2,
        "head_dim": 256, "vocab_size": 248320, "linear_num_key_heads": 16, "linear_num_value_heads": 64,
        "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
        "num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 1024,
        "shared_expert_intermediate_size": 1024}})"},
    {"nemotron-h-8b", R"({"model_type": "nemotron_h", "hidden_size": 4096, "intermediate_size": 21504,
        "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
        "num_hidden_layers": 52, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128, "conv_kernel": 4, "n_groups": 8,
        "vocab_size": 131072})"},
    {"gemma-4-e4b", R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text",
        "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 42, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 256, "global_head_dim": 512, "sliding_window": 512,
        "num_kv_shared_layers": 18, "vocab_size": 262144}})"},
    {"gemma-3-4b", R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
        "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}})"},
    {"llama-1-30b", R"({"model_type": "llama", "hidden_size": 6656, "intermediate_size": 17920,
        "num_hidden_layers": 60, "num_attention_heads": 52, "vocab_size": 32000})"},
    {"hunyuan-image", R"({"model_type": "hunyuan_v1_dense", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "attention_head_dim": 128, "vocab_size": 128167, "cla_share_factor": 2, "use_cla": false})"},
    {"hunyuan-cla", R"({"model_type": "hunyuan_v1_dense", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "attention_head_dim": 128, "vocab_size": 128167, "cla_share_factor": 2, "use_cla": true})"}};

// "@NAME" in a command is a folder with that config.
std::string with_configs(const std::string& command) {
    std::string text = command;
    const auto at = text.find('@');
    if (at == std::string::npos) return text;
    const std::string name = text.substr(at + 1, text.find(' ', at) - at - 1);
    const fs::path folder = fs::temp_directory_path() / "headroom-questions" / name;
    fs::create_directories(folder);
    std::ofstream(folder / "config.json") << kConfigs.at(name);
    return text.replace(at, name.size() + 1, folder.string());
}

Json ask(const std::string& command) {
    const std::string full = with_configs(command) + " --format json";
    const auto outcome = run_program(full, false);
    INFO(full);
    CHECK(outcome.exit_code <= 1);
    return Json::parse(outcome.text, nullptr, false);
}

double number(const std::string& command, const char* pointer) {
    const Json json = ask(command);
    const Json::json_pointer at(pointer);
    if (json.is_discarded() || !json.contains(at) || !json[at].is_number()) return -1;
    return json[at].get<double>();
}

struct Fact {
    const char* source;  // the thread, and the question where it is not plain
    const char* command;
    const char* pointer;
    double answer;
    double tolerance = 1e-12;
};

void check(const std::vector<Fact>& facts) {
    for (const Fact& f : facts) {
        const double given = number(f.command, f.pointer);
        INFO(f.source << ": headroom " << f.command << " says " << given << ", right is " << f.answer);
        CHECK(near(given, f.answer, f.tolerance));
    }
}

constexpr double kGiB = 1024.0 * 1024 * 1024, kMiB = 1024.0 * 1024;
constexpr const char* kPerToken = "/kv/bytes_per_token";
constexpr const char* kPerSequence = "/results/0/kv_bytes_per_sequence";

// Tokens that a pool of so many bytes holds: a device of the weights and the pool, all of it for use.
double tokens_in_pool(const std::string& deployment, double pool, const std::string& more = "") {
    const double weights = number("limits --engine ideal " + deployment, "/ledger/weight_bytes");
    return number("limits --engine ideal " + deployment + more +
                      " --set hw.memory.capacity=" + std::to_string(weights + pool) + "B",
                  "/kv/capacity_tokens");
}

}  // namespace

TEST_CASE("commands answer public questions about KV bytes per token", "[questions]") {
    check({
        {"https://github.com/jranaraki/vllm-fit/issues/14: not 4x more, for all query heads",
         "models show llama-3.1-8b", kPerToken, 131072},
        {"https://github.com/vllm-project/vllm/pull/29736: not 2 x layers x hidden",
         "limits --model llama-3.1-8b", kPerToken, 131072},
        {"https://github.com/hahnyuan/LLM-Viewer/issues/12: read by a decode step at 2048 tokens",
         "predict --model llama-2-70b --batch 1 --context 2048", "/results/0/decode/kv_bytes", 671088640},
        {"https://github.com/LMCache/LMCache/pull/694: the rope part, and no factor 2",
         "models show deepseek-v3", kPerToken, 70272},
        {"https://github.com/QingyaFan/blog/issues/190: head_dim is not hidden / heads",
         "models show qwen3-32b", kPerToken, 262144},
        {"https://github.com/ai-dynamo/dynamo/pull/14431: one layer of 16 heads of 128, not of 7168 / 64",
         "models show @one-layer", kPerToken, 8192},
        {"https://github.com/vllm-project/vllm/pull/2622: 32 heads of 128 beside a width of 5120",
         "models show @mistral-nemo", kPerToken, 163840},
        {"https://github.com/vllm-project/vllm/pull/1164: one head, whatever num_kv_heads says",
         "models show falcon-7b", kPerToken, 8192},
        {"https://github.com/vllm-project/vllm/pull/1164: eight heads", "models show falcon-40b", kPerToken,
         122880},
        {"https://github.com/mudler/vllm.cpp/issues/357: 28 layers of 2048", "models show qwen2.5-7b",
         kPerToken, 28 * 2048},
        {"https://github.com/QwenLM/Qwen3/issues/295", "models show @qwen1.5-7b", kPerToken, 524288},
        {"the same: 7344 tokens", "limits --engine ideal --model @qwen1.5-7b --context 7344", kPerSequence,
         3.59 * kGiB, 2e-3},
        {"https://github.com/NVIDIA/TensorRT-LLM/issues/1400: 69524783104 bytes for 132608 tokens",
         "models show llama-2-7b", kPerToken, 524288},
        {"https://github.com/vllm-project/vllm/issues/23278: only full layers grow",
         "models show gpt-oss-120b", kPerToken, 36864},
        {"the same: 131072 tokens beyond the windows, not 9 GiB",
         "limits --engine ideal --model gpt-oss-120b --context 131072", kPerSequence, 4.5 * kGiB, 2e-3},
        {"HunyuanImage-2.1: a sharing factor that is switched off", "models show @hunyuan-image", kPerToken,
         131072},
        {"the same, switched on", "models show @hunyuan-cla", kPerToken, 65536},
        {"Hunyuan-Large: a cache for every two layers, heads of 128", "models show hunyuan-large", kPerToken,
         131072},
        {"Nemotron-3-Ultra: 12 of 108 layers attend", "models show nemotron-3-ultra-550b-a55b", kPerToken,
         12288},
    });
}

TEST_CASE("commands answer public questions about quantized caches", "[questions]") {
    check({
        {"https://github.com/KolosalAI/model-memory-calculator/issues/2: f16",
         "limits --engine ideal --model llama-3.1-8b --context 8192", kPerSequence, kGiB},
        {"the same: q8_0, 34 bytes for 32 values",
         "limits --engine ideal --model llama-3.1-8b --context 8192 --kv int8-g32", kPerSequence,
         kGiB * 34 / 64},
        {"the same: q4_0, 18 bytes for 32 values",
         "limits --engine ideal --model llama-3.1-8b --context 8192 --kv int4-g32", kPerSequence,
         kGiB * 18 / 64},
        {"https://github.com/ollama/ollama/pull/6276: 4 GiB become 2.125",
         "limits --engine ideal --model llama-3.1-8b --context 32768 --kv int8-g32", kPerSequence,
         2.125 * kGiB},
        {"the same: 1.125", "limits --engine ideal --model llama-3.1-8b --context 32768 --kv int4-g32",
         kPerSequence, 1.125 * kGiB},
        {"https://github.com/ikawrakow/ik_llama.cpp/pull/259: a latent cache at q8_0",
         "limits --engine ideal --model deepseek-r1 --context 32768 --kv int8-g32", kPerSequence, 1223294976},
        {"https://github.com/vllm-project/vllm/issues/25350: FP8", "models show qwen3-30b-a3b --kv fp8",
         kPerToken, 49152},
        // 512 values at 8 bits, 4 scales of 32 bits, the rope part at 16 bits; the indexer's key is 132 more
        {"https://github.com/flashinfer-ai/flashinfer/issues/2426: 656 bytes a layer",
         "models show deepseek-v3.2 --kv fp8-g128-s32", kPerToken, 61 * (656 + 132)},
        // Ascend keeps the indexer's keys at 16 bits; the thread gives page sizes and no total
        {"https://github.com/vllm-project/vllm-ascend/pull/6610: 1152 + 256 bytes a layer",
         "models show deepseek-v3.2 --set model.kinds.dense.attention.indexer.key_bits=16 "
         "--set model.kinds.experts.attention.indexer.key_bits=16",
         kPerToken, 61 * (1152 + 256)},
        // Engines lay this cache out differently; the figures are one project's, so the tolerances are wide
        {"https://github.com/spark-arena/sparkrun/pull/247: not 88064 bytes a token",
         "models show deepseek-v4-flash --kv fp8", kPerToken, 3915, 0.15},
        {"the same: set aside for each request", "models show deepseek-v4-flash --kv fp8",
         "/kv/bytes_per_sequence", 15467904, 0.05},
    });
    // https://github.com/jundot/omlx/pull/2626: 84 KB a token is six times too much
    CHECK(number("models show deepseek-v4-flash", kPerToken) < 2.0 * 43 * 512 * 2 / 5);
}

TEST_CASE("commands answer public questions about windows, chunks and states", "[questions]") {
    check({
        {"https://github.com/tenstorrent/tt-xla/issues/5727: 81920 L + 819200 min(L, 1024)",
         "limits --engine ideal --model gemma-4-31b-nvfp4 --kv bf16 --context 32768", kPerSequence,
         81920.0 * 32768 + 819200.0 * 1024},
        {"the same at 256 k: 20.78 GiB, not 220",
         "limits --engine ideal --model gemma-4-31b-nvfp4 --kv bf16 --context 262144", kPerSequence,
         81920.0 * 262144 + 819200.0 * 1024},
        // 4096 tokens: 64 MiB of global layers; of the local ones 512 + 1024 tokens are kept, 60 MiB
        {"https://github.com/qualcomm/GenieX/pull/1346: global layers", "models show @gemma-4-e4b", kPerToken,
         64 * kMiB / 4096},
        {"the same: a window of 512 is a third of 60 MiB", "models show @gemma-4-e4b",
         "/kv/bytes_per_sequence", 20 * kMiB},
        {"https://github.com/huggingface: heads that text_config leaves to its class, larql issue 436",
         "models show @gemma-3-4b", kPerToken, 139264.0 * 5 / 34},
        {"the same: the other 29 of 34 layers have windows", "models show @gemma-3-4b",
         "/kv/bytes_per_sequence", 139264.0 * 29 / 34 * 1024},
        {"https://github.com/sgl-project/sglang/pull/6563: 36 chunked layers, not 24 GiB",
         "limits --engine ideal --model llama-4-scout --context 131072", kPerSequence, 7.125 * kGiB},
        {"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1862: 16 of 64 layers",
         "models show qwen3.5-27b", kPerToken, 65536},
        {"the same: a state of 156893184 bytes, all at 32 bits",
         "models show qwen3.5-27b --set model.kinds.linear.attention.conv_type=fp32",
         "/kv/bytes_per_sequence", 156893184},
        {"https://github.com/inference-sim/inference-sim/issues/1558: 4 of 52 layers",
         "models show @nemotron-h-8b", kPerToken, 16384},
        {"the same: 24 states at 16 bits", "models show @nemotron-h-8b", "/kv/bytes_per_sequence", 51806208},
        {"https://github.com/vllm-project/vllm/issues/28228: 7 latent layers",
         "models show kimi-linear-48b-a3b", kPerToken, 8064},
        {"the same: 7.88 GiB at 1 M tokens",
         "limits --engine ideal --model kimi-linear-48b-a3b --context 1048576", kPerSequence,
         7.88 * kGiB + 43.4e6, 2e-3},
        // what vLLM printed for 262144 tokens, without its padded state pages
        {"Qwen3.8-27B, pure KV", "models show qwen3.5-27b", kPerToken, 17179869184.0 / 262144},
        {"Qwen3.6-35B-A3B, pure KV", "models show qwen3.6-35b-a3b-nvfp4 --kv bf16", kPerToken,
         5368709120.0 / 262144},
        {"Nemotron-3-Nano, pure KV", "models show nemotron-3-nano-30b-a3b", kPerToken, 1610612736.0 / 262144},
        // with padded state pages and blocks of 784 tokens, prefix cache off
        {"the same, as vLLM 0.29 sets it aside for Qwen3.8-27B",
         "limits --model qwen3.5-27b --hw h200 --context 262144", kPerSequence, 17366515712},
        // 10 global layers with pages of 32 tokens, 50 local ones with pages of 16
        {"the same for Gemma-4-31B: 13637 blocks of 2621440",
         "limits --model gemma-4-31b-nvfp4 --kv bf16 --hw h200 --context 262144 "
         "--set engine.scheduler.max_batched_tokens=16384",
         kPerSequence, 13637.0 * 2621440},
    });
}

TEST_CASE("commands answer public questions about pools of KV", "[questions]") {
    check({
        {"https://github.com/NVIDIA/TensorRT-LLM/issues/2268: a block of 64 tokens",
         "limits --engine ideal --model llama-2-7b --context 64", kPerSequence, 32 * kMiB},
        {"https://github.com/vllm-project/vllm/pull/48322: 3744 tokens",
         "limits --engine ideal --model qwen3-8b-fp8 --kv bf16 --context 3744", kPerSequence, 526.5 * kMiB},
        {"https://github.com/kvcache-ai/Mooncake/issues/103: 3072 tokens, 48 ms at 12.5 GB/s",
         "limits --engine ideal --model @qwen2.5-14b --context 3072", kPerSequence, 603979776},
        {"https://github.com/LMCache/LMCache/pull/1691: 7500 tokens, 34 ms at 12.5 GB/s",
         "limits --engine ideal --model qwen2.5-7b --context 7500", kPerSequence, 430080000},
        {"Tandemn issue 11: 77088 tokens on an A10G",
         "limits --engine ideal --model qwen2.5-7b --context 77088", kPerSequence, 4420534272},
        {"https://github.com/huggingface/blog/issues/2345: 61.5 GiB, not 123",
         "limits --engine ideal --model llama-3.1-405b --context 128000", kPerSequence, 66060288000},
        {"a page on simulators: not 160 MB", "limits --engine ideal --model llama-3-70b --context 4096",
         kPerSequence, 1342177280},
        {"pages with MHA formulas: not 4 GB", "limits --engine ideal --model llama-3-8b --context 8192",
         kPerSequence, 1.07e9, 5e-3},
        {"the same: not 340 GB", "limits --engine ideal --model llama-3-70b --context 131072", kPerSequence,
         42.9e9, 2e-3},
    });
    // https://github.com/vllm-project/vllm/issues/25350: 230528 tokens in 10.55 GiB, 122080 in 5.59 (rounded)
    CHECK(near(tokens_in_pool("--model qwen3-30b-a3b --kv fp8", 10.55 * kGiB), 230528, 1e-3));
    CHECK(near(tokens_in_pool("--model qwen3-30b-a3b --kv fp8", 5.59 * kGiB), 122080, 1e-3));
    // https://github.com/NVIDIA/TensorRT-LLM/issues/1400
    CHECK(tokens_in_pool("--model llama-2-7b", 69524783104.0) == 132608);
    // https://github.com/NVIDIA/TensorRT-LLM/issues/2268: 631 blocks of 64 tokens are 19.72 GiB
    CHECK(tokens_in_pool("--model llama-2-7b", 19.72 * kGiB, " --set engine.memory.block_tokens=64") ==
          631 * 64);
    // https://github.com/LMCache/LMCache/issues/1739: 6.51 GiB, in blocks of 16
    CHECK(tokens_in_pool("--model @qwen3-14b", 6.51 * kGiB, " --set engine.memory.block_tokens=16") == 42656);
    // https://github.com/vllm-project/vllm/issues/8031: 4.61 sequences of 8192 tokens are 37765 tokens
    CHECK(near(tokens_in_pool("--model llama-3-8b", 4.61 * 8192 * 131072), 37765, 1e-4));
    // https://github.com/vllm-project/vllm/pull/48322: a larger token budget leaves less for KV
    const std::string card =
        "limits --model qwen3-8b-fp8 --weights bf16 --kv bf16 --hw rtx-4090 --context 2048 "
        "--set engine.scheduler.max_batched_tokens=";
    CHECK(number(card + "8192", "/kv/capacity_tokens") < number(card + "2048", "/kv/capacity_tokens"));
    // https://github.com/vllm-project/vllm/issues/54607: a state makes blocks so large that a prompt of 240
    // tokens fills none, so nothing of it can be found again
    CHECK(number("limits --model qwen3.5-27b --hw h200", "/kv/block_tokens") == 784);
    CHECK(number("limits --model qwen3-32b --hw h200", "/kv/block_tokens") == 16);
}

TEST_CASE("commands answer public questions about parameters and weights", "[questions]") {
    constexpr const char* total = "/parameters/total";
    constexpr const char* active = "/parameters/active";
    check({
        {"https://github.com/jranaraki/vllm-fit/issues/27: memory needs all experts",
         "models show mixtral-8x7b", total, 46702792704},
        {"the same: 93.4 GB", "limits --model mixtral-8x7b --tp 2", "/ledger/weight_bytes", 93.4e9 / 2, 2e-3},
        {"the same: a token uses 12.88e9", "models show mixtral-8x7b", active, 12879925248},
        // the embedding is looked up, not read
        {"the same: a step of one token reads 25.76 GB",
         "predict --model mixtral-8x7b --hw h200 --batch 1 --context 1", "/results/0/decode/weight_bytes",
         25.76e9 - 2.0 * 32000 * 4096, 1e-3},
        {"https://github.com/AlexsJones/llmfit/issues/230: memory", "models show @qwen3.5-122b-a10b", total,
         122111526912},
        {"the same: speed", "models show @qwen3.5-122b-a10b", active, 9771288576},
        {"https://github.com/inference-sim/inference-sim/issues/764: not 8 experts and not 6",
         "predict --model mixtral-8x7b --hw h200 --batch 3", "/results/0/decode/experts/touched", 4.625,
         1e-9},
        {"https://github.com/Abdullah-Taha9/ui-training/issues/29 (Qwen3-4B)", "models show qwen3-vl-4b",
         total, 4022468096},
        {"the same (Qwen2.5-72B)", "models show qwen2.5-72b", total, 72706203648},
        {"Nemotron-3-Ultra: experts in a latent of 2048", "models show nemotron-3-ultra-550b-a55b", total,
         549308993536},
        {"the same, per token", "models show nemotron-3-ultra-550b-a55b", active, 56058843136},
        // the log has 65.97 GiB: that engine pads the experts' width of 2880
        {"https://github.com/vllm-project/vllm/issues/23278: weights of gpt-oss-120b",
         "limits --model gpt-oss-120b", "/ledger/weight_bytes", 65.97 * kGiB, 0.09},
        {"https://github.com/GeeeekExplorer/nano-vllm/pull/241: Qwen3-0.6B", "models show qwen3-0.6b", total,
         596049920},
        {"the same: 1.11 GiB", "models show qwen3-0.6b", "/weight_bytes", 1.11 * kGiB, 2e-3},
        {"the same at FP8: the tied embedding stays", "models show qwen3-0.6b --weights fp8", "/weight_bytes",
         0.70 * kGiB, 2e-3},
    });
    // https://github.com/GeeeekExplorer/nano-vllm/pull/241: 440401920 linear weights lose a byte each
    const auto weights = [](const std::string& more) {
        return number("models show " + more, "/weight_bytes");
    };
    CHECK(weights("qwen3-0.6b") - weights("qwen3-0.6b --weights fp8") == 440401920);
    // https://github.com/vllm-project/vllm/pull/41000: the head of 248320 x 5120 stays at 16 bits
    CHECK(weights("qwen3.5-27b --weights fp8") -
              weights("qwen3.5-27b --weights fp8 --set model.formats.head=fp8") ==
          1271398400);
    // https://github.com/NVIDIA/TensorRT-LLM/issues/1922: bits per weight of 6979321856 in linear layers
    const auto bits = [&](const char* format) {
        const double linear = 6979321856;
        return 8 *
               (weights(std::string("llama-3-8b --weights ") + format) - weights("llama-3-8b") + 2 * linear) /
               linear;
    };
    CHECK(near(bits("int4-g128"), 4.125, 1e-9));
    CHECK(near(bits("int4-g128-zp"), 4.15625, 1e-9));
    CHECK(near(bits("int4-g128-z16"), 4.25, 1e-9));
}

TEST_CASE("commands answer public questions about parallelism", "[questions]") {
    check({
        {"https://github.com/deepseek-ai/DeepSeek-V3/issues/283: the latent is on every rank",
         "limits --model deepseek-v3 --hw h200 --tp 8", kPerToken, 70272},
        {"https://github.com/huggingface/transformers/pull/48566: per GPU", "limits --model qwen3-32b --tp 4",
         kPerToken, 65536},
        {"the same: 3258 blocks of 256 are 50.9 GiB",
         "limits --engine ideal --model qwen3-32b --tp 4 --context 834048", kPerSequence, 50.9 * kGiB, 1e-3},
        {"https://github.com/vllm-project/vllm/issues/21348: per GPU",
         "limits --model qwen3-235b-a22b-fp8 --tp 4", kPerToken, 48128},
        {"the same: keys of 367404 tokens are 8.234 GiB",
         "limits --engine ideal --model qwen3-235b-a22b-fp8 --tp 4 --context 367404", kPerSequence,
         2 * 8.234 * kGiB, 1e-4},
        {"https://github.com/guoqingbao/xinfer/issues/195: 524288 tokens, a quarter of 131072 MiB",
         "limits --engine ideal --model @qwen3-vl-32b --tp 4 --context 524288", kPerSequence,
         131072 * kMiB / 4},
        // 58 x 256 x 3 x 7168 x 2048 over 8 ranks, and 17.1e9 on each
        {"https://github.com/vllm-project/recipes/issues/402: experts are cut, attention is not",
         "limits --model deepseek-v3 --weights bf16 --hw h200 --dp 8 --ep 8", "/ledger/weight_bytes",
         2 * (653908770816.0 / 8 + 17.1e9), 5e-3},
        // floors of ours read no embedding table
        {"https://github.com/meta-pytorch/gpt-fast/issues/225: 158 tokens/s on two A100",
         "predict --model mixtral-8x7b --hw a100-sxm-80gb --tp 2 --batch 1 --context 1",
         "/results/0/decode/floor_tokens_per_s", 158.3, 0.02},
        {"https://github.com/tenstorrent/tt-inference-server/issues/143: TPOT of two H100",
         "predict --model qwen2.5-72b --tp 2 --batch 1 --context 128", "/results/0/decode/floor_s", 21.7e-3,
         0.02},
        {"the same: TTFT of 8192 tokens; ours counts attention too",
         "predict --model qwen2.5-72b --tp 2 --prompt 8192", "/results/0/prefill/floor_s", 0.602, 0.06},
        {"https://github.com/openfabric-systems/simllm/pull/201: four H200, batch 64 at about 2251 tokens",
         "predict --model qwen3-32b --hw h200 --tp 4 --batch 64 --context 2251", "/results/0/decode/floor_s",
         5.38e-3, 0.03},
        // 37.55e9 active weights at 8 bits over 16 x 3.35 TB/s are 1427 tokens/s
        {"https://github.com/tenstorrent/tt-inference-server/issues/356: DeepSeek-R1 on 16 H100",
         "models show deepseek-r1", "/parameters/active", 16 * 3.35e12 / 1427, 1e-3},
    });
    // The same: tensor parallelism alone puts the down-projections of queries and latents on every GPU, so
    // the bound is lower than if all were cut; and a step is far from it, for other reasons than bandwidth
    const Json r1 = ask(
        "predict --model deepseek-r1 --weights fp8 --tp 16 --batch 1 --context 1")["results"][0]["decode"];
    CHECK(r1["floor_tokens_per_s"] > 0.6 * 1427);
    CHECK(r1["floor_tokens_per_s"] < 1427);
    CHECK(r1["memory_s"].get<double>() < 0.5 * r1["expected_s"].get<double>());
    // https://github.com/deepseek-ai/DeepSeek-V3/issues/283: with data-parallel attention a token is on one
    // rank
    const std::string eight = "limits --engine ideal --model deepseek-v3 --hw h200 --context 8192 --ep 8 ";
    CHECK(number(eight + "--dp 8", "/results/0/max_sequences") >
          6 * number(eight + "--tp 8", "/results/0/max_sequences"));
    // https://github.com/vllm-project/vllm/issues/12400: five users at 128 k on four H100 with FP8 weights
    CHECK(number("limits --model llama-3.1-70b --weights fp8 --tp 4 --context 131072",
                 "/results/0/max_sequences") == 5);
    CHECK(5 * 4 *
              number("limits --engine ideal --model llama-3.1-70b --tp 4 --context 131072", kPerSequence) ==
          214748364800);
}

TEST_CASE("commands say how layers are dealt out to stages", "[questions]") {
    // https://github.com/vllm-project/vllm/pull/34080: 61 layers; the pool is that of the tightest stage
    const std::map<int, std::vector<int>> dealt{
        {2, {31, 30}}, {4, {16, 15, 15, 15}}, {8, {8, 8, 8, 8, 8, 7, 7, 7}}};
    for (const auto& [pp, layers] : dealt) {
        const Json json =
            ask("limits --engine ideal --model deepseek-v3 --hw b200 --context 4096 --tp 8 --pp " +
                std::to_string(pp));
        REQUIRE(json.contains("stages"));
        std::vector<int> found;
        double tightest = 0;
        for (const Json& stage : json["stages"]) {
            found.push_back(stage["layers"].get<int>());
            CHECK(stage["kv_bytes_per_token"] == found.back() * 1152);
            const double tokens = stage["kv_bytes"].get<double>() / stage["kv_bytes_per_token"].get<double>();
            tightest = tightest == 0 ? tokens : std::min(tightest, tokens);
        }
        CHECK(found == layers);
        CHECK(near(json["kv"]["capacity_tokens"].get<double>(), tightest, 1e-3));
    }
}

TEST_CASE("commands refuse degrees that do not cut the heads, and name one that does", "[questions]") {
    // https://github.com/vllm-project/vllm/issues/11797, https://github.com/microsoft/vidur/issues/18
    const auto refused = [](const std::string& model, int tp) {
        const auto outcome =
            run_program("limits --model " + with_configs(model) + " --tp " + std::to_string(tp));
        if (outcome.exit_code != 2) return false;
        CHECK(outcome.text.find("nearest that works: --tp") != std::string::npos);
        return true;
    };
    for (const int tp : {1, 2, 4, 28}) CHECK(!refused("qwen2.5-7b", tp));
    for (const int tp : {3, 7, 8, 14}) CHECK(refused("qwen2.5-7b", tp));
    for (const int tp : {3, 8}) CHECK(refused("@llama-1-30b", tp));
    CHECK(refused("llama-2-13b", 3));
}
