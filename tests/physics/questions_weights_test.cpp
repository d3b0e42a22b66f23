// SPDX-License-Identifier: Apache-2.0
// Questions and faults from public threads about weights and parallelism, restated with their right answers.
#include "catalogue.h"
#include "ops/routing.h"
#include "ops/tensor.h"
#include "physics/models.h"

#include <algorithm>

namespace {

using namespace headroom;
using headroom::test::kv_per_token;
using headroom::test::near;

double role_parameters(const Model& m, Role role) {
    double sum = 0;
    const auto counts = layers_per_kind(m);
    for (std::size_t i = 0; i < m.kinds.size(); ++i) {
        for (const Tensor& t : layer_tensors(m, m.kinds[i]))
            sum += t.role == role ? counts[i] * parameters(t) : 0;
    }
    return sum;
}

}  // namespace

TEST_CASE("memory needs all experts, a single token reads a few", "[physics]") {
    // https://github.com/jranaraki/vllm-fit/issues/27: Mixtral-8x7B
    const Model m = test::model("mixtral-8x7b");
    CHECK(count_parameters(m).total == 46702792704);
    CHECK(count_parameters(m).active == 12879925248);
    CHECK(near(weight_bytes(m).base(), 93.4e9, 1e-3));
    // https://github.com/inference-sim/inference-sim/issues/764: three tokens touch 4.625 of 8 experts
    CHECK(near(expert_traffic({}, 8, 8, 2, 3).hit, 4.625));
}

TEST_CASE("parameters of Qwen models are those of their cards", "[physics]") {
    // https://github.com/Abdullah-Taha9/ui-training/issues/29
    CHECK(count_parameters(test::model("qwen2.5-72b")).total == 72706203648);
    CHECK(count_parameters(test::model("qwen3-vl-4b")).total == 4022468096);
    // Nemotron-3-Ultra: experts work in a latent of 2048
    CHECK(count_parameters(test::model("nemotron-3-ultra-550b-a55b")).total == 549308993536);
    CHECK(count_parameters(test::model("nemotron-3-ultra-550b-a55b")).active == 56058843136);
}

TEST_CASE("bits per 4-bit weight include scale and zero point", "[physics]") {
    // https://github.com/NVIDIA/TensorRT-LLM/issues/1922: 4.125, 4.156 and 4.25 bits at groups of 128
    CHECK(8 * bytes_per_element(*storage_format("int4-g128")).base() == 4.125);
    CHECK(8 * bytes_per_element(*storage_format("int4-g128-zp")).base() == 4.15625);
    CHECK(8 * bytes_per_element(*storage_format("int4-g128-z16")).base() == 4.25);
}

TEST_CASE("what engines do not quantize stays at 16 bits", "[physics]") {
    // https://github.com/vllm-project/vllm/pull/41000: the head of a 27B model, 248320 x 5120
    Model m = test::model("qwen3.5-27b");
    const Bytes before = weight_bytes(with_weight_format(m, *storage_format("fp8"), false));
    m = with_weight_format(m, *storage_format("fp8"), false);
    m.formats[Role::head] = *storage_format("fp8");
    CHECK((before - weight_bytes(m)).base() == 1271398400);
    // https://github.com/GeeeekExplorer/nano-vllm/pull/241: Qwen3-0.6B, 440401920 of 596049920 parameters are
    // in linear layers and the tied embedding stays
    const Model small = test::model("qwen3-0.6b");
    CHECK(count_parameters(small).total == 596049920);
    CHECK(role_parameters(small, Role::attention) + role_parameters(small, Role::ffn) == 440401920);
    CHECK(near(weight_bytes(small).in(GiB), 1.11, 2e-3));
    CHECK(near(weight_bytes(with_weight_format(small, *storage_format("fp8"), false)).in(GiB), 0.70, 2e-3));
}

TEST_CASE("tensor parallelism cuts key-value heads until each GPU has one", "[physics]") {
    // https://github.com/huggingface/transformers/pull/48566: Qwen3-32B on 4 GPUs, 65536 bytes per token each
    const Model qwen = test::model("qwen3-32b");
    CHECK(kv_per_token(shard(qwen, {.tp = 4}).stages[0]) == 65536);
    // https://github.com/guoqingbao/xinfer/issues/195: 524288 tokens are 131072 MiB over all GPUs
    CHECK(4 * kv_bytes(kv_of(shard(qwen, {.tp = 4}).stages[0]), 524288).in(MiB) == 131072);
    // https://github.com/vllm-project/vllm/issues/21348: Qwen3-235B on 4 GPUs
    CHECK(kv_per_token(shard(test::model("qwen3-235b-a22b-fp8"), {.tp = 4}).stages[0]) == 48128);
}

TEST_CASE("heads that a degree does not divide are refused with one that works", "[physics]") {
    // https://github.com/vllm-project/vllm/issues/11797, https://github.com/microsoft/vidur/issues/18
    const Model qwen = test::model("qwen2.5-7b");  // 28 heads, 4 key-value heads
    for (const int tp : {1, 2, 4, 28}) CHECK(deployment_faults(qwen, {.tp = tp}).empty());
    for (const int tp : {3, 7, 8, 14}) {
        const auto faults = deployment_faults(qwen, {.tp = tp});
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].find("nearest that works: --tp") != std::string::npos);
    }
    CHECK(!deployment_faults(test::grouped_model(60, 6656, 52, 52, 128, 17920, 32000), {.tp = 8}).empty());
    CHECK(!deployment_faults(test::model("llama-2-13b"), {.tp = 3}).empty());
}

TEST_CASE("layers that stages do not divide are dealt out, and the fullest stage decides", "[physics]") {
    // https://github.com/vllm-project/vllm/pull/34080: 61 layers
    const Model m = test::model("deepseek-v3");
    const auto layers = [&](int pp) {
        std::vector<std::size_t> counts;
        for (const Model& stage : shard(m, {.pp = pp}).stages) counts.push_back(stage.layout.size());
        return counts;
    };
    CHECK(layers(2) == std::vector<std::size_t>{31, 30});
    CHECK(layers(4) == std::vector<std::size_t>{16, 15, 15, 15});
    CHECK(layers(8) == std::vector<std::size_t>{8, 8, 8, 8, 8, 7, 7, 7});
    const Shard four = shard(m, {.pp = 4});
    CHECK(kv_per_token(four.stages[0]) == 16 * 1152);
    CHECK(kv_per_token(four.stages[1]) == 15 * 1152);
}

TEST_CASE("experts are spread over all ranks, attention and shared parts are on each", "[physics]") {
    // https://github.com/vllm-project/recipes/issues/402: DeepSeek-V3 with data-parallel attention over 8
    // GPUs
    const Model m = test::model("deepseek-v3");
    CHECK(role_parameters(m, Role::expert) == 653908770816);
    const Shard spread = shard(m, {.ep = 8, .dp = 8});
    const Model& rank = spread.stages[0];
    CHECK(role_parameters(rank, Role::expert) == 653908770816 / 8);
    CHECK(role_parameters(rank, Role::attention) == role_parameters(m, Role::attention));
    CHECK(role_parameters(rank, Role::shared_expert) == role_parameters(m, Role::shared_expert));
    CHECK(near(count_parameters(rank).total - role_parameters(rank, Role::expert), 17.1e9, 5e-3));
}
