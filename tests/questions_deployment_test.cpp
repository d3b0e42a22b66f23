// SPDX-License-Identifier: Apache-2.0
// Questions and faults from public threads about weights and parallelism, restated: what a user types and the
// right answer.
#include "questions.h"

#include <map>

using namespace headroom::test;
using Json = nlohmann::json;

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
