// SPDX-License-Identifier: Apache-2.0
// Questions and faults from public threads about the KV cache, restated: what a user types and the right
// answer. Threads about scheduling, energy, MFU and peaks are other tests' subjects; so are those without a
// figure (vllm issues 17549 and 2048).
#include "questions.h"

using namespace headroom::test;

namespace {

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
