// SPDX-License-Identifier: Apache-2.0
// Questions and faults from public threads about caches, restated: each with the thread and its right answer.
#include "catalogue.h"
#include "ops/mixer.h"
#include "ops/tensor.h"
#include "physics/models.h"

namespace {

using namespace headroom;
using headroom::test::kv_per_token;
using headroom::test::near;

double kv_gib(const Model& m, double context) { return kv_bytes(kv_of(m), context).in(GiB); }

Model with_kv(Model m, const char* format) {
    m.kv_format = storage_format(format);
    return m;
}

}  // namespace

TEST_CASE("key-value heads decide, not attention heads", "[physics]") {
    // https://github.com/jranaraki/vllm-fit/issues/14, https://github.com/vllm-project/vllm/pull/29736
    CHECK(kv_per_token(test::model("llama-3.1-8b")) == 131072);
    // https://github.com/hahnyuan/LLM-Viewer/issues/12: Llama-2-70B at 2048 tokens reads 0.625 GiB, not 5
    CHECK(kv_per_token(test::model("llama-2-70b")) == 327680);
    CHECK(kv_gib(test::model("llama-2-70b"), 2048) == 0.625);
    // https://github.com/QwenLM/Qwen3/issues/295: Qwen1.5-7B is MHA, so 7344 tokens are 3.59 GiB
    const Model qwen = test::grouped_model(32, 4096, 32, 32, 128, 11008, 151936);
    CHECK(near(kv_gib(qwen, 7344), 3.59, 2e-3));
    // https://github.com/mudler/vllm.cpp/issues/357: 2048 bytes per layer, 28 layers
    CHECK(kv_per_token(test::model("qwen2.5-7b")) == 28 * 2048);
}

TEST_CASE("the head size is what the config says, not hidden / heads", "[physics]") {
    // https://github.com/QingyaFan/blog/issues/190: Qwen3-32B, 5120 / 64 = 80 would give 163840
    CHECK(kv_per_token(test::model("qwen3-32b")) == 262144);
    // https://github.com/vllm-project/vllm/pull/2622: Mistral-Nemo, 5120 wide with 32 heads of 128
    const Model nemo = test::grouped_model(40, 5120, 32, 8, 128, 14336, 131072);
    CHECK(kv_per_token(nemo) == 163840);
    const auto weights = layer_tensors(nemo, nemo.kinds[0]);
    CHECK(weights[0].rows == 4096);
    CHECK(weights[0].columns == 5120);
}

TEST_CASE("Falcon has one key-value head or eight, whatever num_kv_heads says", "[physics]") {
    // https://github.com/vllm-project/vllm/pull/1164
    CHECK(kv_per_token(test::model("falcon-7b")) == 8192);
    CHECK(kv_per_token(test::model("falcon-40b")) == 122880);
}

TEST_CASE("MLA: one latent and its rope part, no factor of two, the same on every GPU", "[physics]") {
    const Model m = test::model("deepseek-v3");
    // https://github.com/LMCache/LMCache/pull/694: not 2 x 61 x 512 x 2
    CHECK(kv_per_token(m) == 70272);
    // https://github.com/deepseek-ai/DeepSeek-V3/issues/283: 8 GPUs hold 562176 bytes for each token
    CHECK(kv_per_token(shard(m, {.tp = 8}).stages[0]) == 70272);
    // https://github.com/ikawrakow/ik_llama.cpp/pull/259: DeepSeek-R1 at 32768 tokens, 34 bytes per 32 values
    CHECK(kv_bytes(kv_of(with_kv(test::model("deepseek-r1"), "int8-g32")), 32768).base() == 1223294976);
    // https://github.com/flashinfer-ai/flashinfer/issues/2426: FP8 latent with fp32 scales per 128 and bf16
    // rope
    Mixer latent = m.kinds[0].mixer;
    CHECK(kv_law(latent, *storage_format("fp8-g128-s32")).per_token.base() == 656);
}

TEST_CASE("sparse selection caches the indexer's keys beside the latent", "[physics]") {
    // https://github.com/vllm-project/vllm-ascend/pull/6610: 1152 + 256 bytes per layer with a 16-bit indexer
    Model m = test::model("deepseek-v3.2");
    auto& latent = std::get<LatentAttention>(m.kinds[0].mixer);
    REQUIRE(latent.indexer);
    latent.indexer->key_bits = 16;
    CHECK(kv_law(latent, {}).per_token.base() == 1152 + 256);
}

TEST_CASE("compressed caches grow by their ratios, not by every token of every layer", "[physics]") {
    // https://github.com/spark-arena/sparkrun/pull/247: DeepSeek-V4-Flash, 2 x 43 x 512 x 2 = 88064 is wrong
    Model m = test::model("deepseek-v4-flash");
    CHECK(kv_per_token(m) == 21 * (1024 + 132) / 4.0 + 20 * 1024 / 128.0);
    CHECK(kv_per_token(m) < 88064 / 10.0);
    // An engine measured 15467904 bytes set aside for each request with an FP8 cache
    m.kv_format = storage_format("fp8");
    CHECK(near(fixed_part(kv_of(m)).base(), 15467904, 0.05));
}

TEST_CASE("caches of blocks with scales are as large as llama.cpp makes them", "[physics]") {
    // https://github.com/KolosalAI/model-memory-calculator/issues/2: Llama-3.1-8B at 8192 tokens
    const Model m = test::model("llama-3.1-8b");
    CHECK(kv_gib(m, 8192) == 1);
    CHECK(kv_gib(with_kv(m, "int8-g32"), 8192) == 34.0 / 64);
    CHECK(kv_gib(with_kv(m, "int4-g32"), 8192) == 18.0 / 64);
    // https://github.com/ollama/ollama/pull/6276: 4 GiB become 2.125 and 1.125
    CHECK(4 * kv_gib(with_kv(m, "int8-g32"), 8192) == 2.125);
    CHECK(4 * kv_gib(with_kv(m, "int4-g32"), 8192) == 1.125);
}

TEST_CASE("windows and chunks bound what local layers keep", "[physics]") {
    // https://github.com/tenstorrent/tt-xla/issues/5727: Gemma-4-31B, 81920 L + 819200 min(L, 1024)
    Model gemma = test::model("gemma-4-31b-nvfp4");
    gemma.kv_format.reset();
    CHECK(kv_per_token(gemma) == 81920);
    CHECK(kv_bytes(kv_of(gemma), 262144).base() == 22313697280);
    CHECK(near(kv_gib(gemma, 32768), 3.28, 2e-3));
    // https://github.com/sgl-project/sglang/pull/6563: Llama-4-Scout at 131072 tokens, 7.12 GiB, not 24
    const Model scout = test::model("llama-4-scout");
    CHECK(near(kv_gib(scout, 131072), 7.125, 1e-9));
    CHECK(static_cast<double>(scout.layout.size()) * 4096 * 131072 == 25769803776);
    // https://github.com/vllm-project/vllm/issues/23278: gpt-oss-120b grows by 36864 bytes beyond the window
    const Model oss = test::model("gpt-oss-120b");
    CHECK(kv_per_token(oss) == 36864);
    CHECK(near(kv_gib(oss, 131072), 4.5, 2e-3));
    // Gemma-3-27B: 10 of 62 layers grow, 52 keep 1024 tokens
    CHECK(kv_per_token(test::model("gemma-3-27b")) == 10 * 2 * 16 * 128 * 2);
    CHECK(fixed_part(kv_of(test::model("gemma-3-27b"))).base() == 52.0 * 2 * 16 * 128 * 2 * 1024);
}

TEST_CASE("only attention layers of a hybrid keep caches; the others keep a state", "[physics]") {
    // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1862: Qwen3.6-27B (as Qwen3.5-27B), 16 of 64
    // layers; states and convolution inputs at 32 bits there
    Model qwen = test::model("qwen3.5-27b");
    CHECK(kv_per_token(qwen) == 65536);
    CHECK(kv_per_token(qwen) * 262144 == 16384.0 * 1024 * 1024);
    for (Layer& layer : qwen.kinds) {
        if (auto* linear = std::get_if<LinearAttention>(&layer.mixer)) linear->conv_type = ElementType::fp32;
    }
    CHECK(fixed_part(kv_of(qwen)).base() == 156893184);
    // https://github.com/inference-sim/inference-sim/issues/1558: Nemotron-H-8B, 4 attention and 24 Mamba-2
    // layers, states at 16 bits
    Model nemotron = test::grouped_model(4, 4096, 32, 8, 128, 21504, 131072);
    StateSpace mamba{.inner = 8192, .state = 128, .conv = 4, .heads = 128, .groups = 8};
    mamba.state_type = ElementType::bf16;
    nemotron.kinds.push_back({.name = "mamba", .mixer = mamba, .norms = 1});
    nemotron.layout.insert(nemotron.layout.end(), 24, 1);
    CHECK(kv_per_token(nemotron) == 16384);
    CHECK(fixed_part(kv_of(nemotron)).base() == 51806208);
    // https://github.com/vllm-project/vllm/issues/28228: Kimi-Linear, 7 MLA layers; the lists count from one
    const Model kimi = test::model("kimi-linear-48b-a3b");
    CHECK(kv_per_token(kimi) == 8064);
    CHECK(near(kv_per_token(kimi) * 1048576, (7.88 * GiB).base(), 1e-3));
    CHECK(near(fixed_part(kv_of(kimi)).base(), 43.4e6, 2e-2));
    // Values that vLLM printed for 262144 tokens: caches without states
    CHECK(kv_per_token(test::model("qwen3.5-27b")) * 262144 == 17179869184);
    CHECK(kv_per_token(test::model("qwen3.6-35b-a3b-nvfp4")) * 262144 == 5368709120);
    CHECK(kv_per_token(test::model("nemotron-3-nano-30b-a3b")) * 262144 == 1610612736);
    // Nemotron-3-Ultra names no layer count: 108 entries, 12 of them attention
    CHECK(test::model("nemotron-3-ultra-550b-a55b").layout.size() == 108);
    CHECK(kv_per_token(test::model("nemotron-3-ultra-550b-a55b")) == 12288);
}

TEST_CASE("caches shared between layers count once, and only when that is switched on", "[physics]") {
    // Hunyuan-Large shares each cache between two layers and has heads of 128, not 6400 / 80
    CHECK(kv_per_token(test::model("hunyuan-large")) == 131072);
    // the HunyuanImage prompt model has a sharing factor of 2 but use_cla is false
    const auto dense = [](const char* switched) {
        return read_hf_config("config.json",
                              std::string(R"({"model_type": "hunyuan_v1_dense", "hidden_size": 4096,
            "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
            "attention_head_dim": 128, "vocab_size": 128167, "cla_share_factor": 2, "use_cla": )") +
                                  switched + "}")
            .model;
    };
    CHECK(kv_per_token(dense("false")) == 131072);
    CHECK(kv_per_token(dense("true")) == 65536);
}

TEST_CASE("sizes of pools and transfers follow from bytes per token", "[physics]") {
    // https://github.com/vllm-project/vllm/issues/25350: Qwen3-30B-A3B with an FP8 cache, 10.55 GiB
    const Model qwen = with_kv(test::model("qwen3-30b-a3b"), "fp8");
    CHECK(kv_per_token(qwen) == 49152);
    CHECK(near(static_cast<double>(longest_context(kv_of(qwen), 10.55 * GiB, 1 << 30)), 230528, 1e-3));
    // https://github.com/NVIDIA/TensorRT-LLM/issues/1400: 69524783104 bytes hold 132608 tokens
    CHECK(longest_context(kv_of(test::model("llama-2-7b")), Bytes(69524783104), 1 << 30) == 132608);
    // https://github.com/NVIDIA/TensorRT-LLM/issues/2268: blocks of 64 tokens are 32 MiB
    CHECK(kv_bytes(kv_of(test::model("llama-2-7b")), 64).base() == 33554432);
    // https://github.com/LMCache/LMCache/issues/1739: Qwen3-14B, 6.51 GiB hold 42656 tokens in blocks of 16
    const Model fourteen = test::grouped_model(40, 5120, 40, 8, 128, 17408, 151936);
    CHECK(longest_context(kv_of(fourteen), 6.51 * GiB, 1 << 30) / 16 * 16 == 42656);
    // https://github.com/vllm-project/vllm/pull/48322: 3744 tokens of Qwen3-8B are 526.5 MiB
    Model eight = test::model("qwen3-8b-fp8");
    CHECK(kv_bytes(kv_of(eight), 3744).in(MiB) == 526.5);
    // https://github.com/kvcache-ai/Mooncake/issues/103: 3072 tokens of Qwen2.5-14B are 604 MB
    CHECK(kv_bytes(kv_of(test::grouped_model(48, 5120, 40, 8, 128, 13824, 152064)), 3072).base() ==
          603979776);
    // https://github.com/LMCache/LMCache/pull/1691: 7500 tokens of Qwen2.5-7B are 430 MB
    CHECK(kv_bytes(kv_of(test::model("qwen2.5-7b")), 7500).base() == 430080000);
}

TEST_CASE("published figures that are wrong are not reproduced", "[physics]") {
    // https://github.com/huggingface/blog/issues/2345: Llama-3.1-405B at 128000 tokens is 61.5 GiB, not 123
    CHECK(kv_bytes(kv_of(test::model("llama-3.1-405b")), 128000).base() == 66060288000);
    // a page that gives 160 MB for 4096 tokens of Llama-3-70B
    CHECK(kv_bytes(kv_of(test::model("llama-3-70b")), 4096).base() == 1342177280);
    // pages that apply the MHA formula: 8192 tokens of Llama-3-8B, 131072 of Llama-3-70B
    CHECK(near(kv_bytes(kv_of(test::model("llama-3-8b")), 8192).base(), 1.07e9, 5e-3));
    CHECK(near(kv_bytes(kv_of(test::model("llama-3-70b")), 131072).base(), 42.9e9, 2e-3));
    // https://github.com/vllm-project/vllm/issues/12400: five users at 128 k tokens of a 70B model
    CHECK(5 * kv_bytes(kv_of(test::model("llama-3.1-70b")), 131072).base() == 214748364800);
}
