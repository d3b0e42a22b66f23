// SPDX-License-Identifier: Apache-2.0
#include "memory/held_weights.h"

#include "catalogue.h"
#include "check.h"
#include "memory/ledger.h"
#include "ops/tensor.h"

using namespace headroom;

namespace {

Bytes padded_experts(double hidden, double intermediate) {
    return Bytes(24 * 32 * 3 * hidden * intermediate * (4 + 8.0 / 32) / 8);
}

}  // namespace

TEST_CASE("the rest of a tensor's last granule is kept up to half of one", "[memory]") {
    const Bytes granule = 2 * MiB;
    CHECK(unsplit_end(115.5 * granule, granule) == 0.5 * granule);
    CHECK(unsplit_end(115.75 * granule, granule) == 0.25 * granule);
    CHECK(unsplit_end(115.25 * granule, granule) == Bytes{});
    CHECK(unsplit_end(115 * granule, granule) == Bytes{});
    CHECK(unsplit_end(4.75 * granule, granule) == Bytes{});
    CHECK(unsplit_end(115.5 * granule, Bytes{}) == Bytes{});
}

TEST_CASE("experts are padded as the kernels of the engine and the device want them", "[memory]") {
    const Model model = test::model("gpt-oss-20b");
    const Shard whole = shard(model, {});
    const Bytes stored = padded_experts(2880, 2880);
    // Marlin, from its conditions: hidden a multiple of 256, intermediate of 128.
    const HeldWeights marlin = held_weights(whole, 0, test::hardware("l40s"), test::engine("vllm-0.19"));
    CHECK(test::near(marlin.experts.base(), (padded_experts(3072, 2944) - stored).base(), 1e-12));
    const HeldWeights blackwell = held_weights(whole, 0, test::hardware("b200"), test::engine("vllm-0.19"));
    CHECK(test::near(blackwell.experts.base(), (padded_experts(3072, 3072) - stored).base(), 1e-12));
    const HeldWeights ideal = held_weights(whole, 0, test::hardware("b200"), test::engine("ideal"));
    CHECK(padding(ideal) == Bytes{});
    CHECK(ideal.stored == weight_bytes(model));
    // Other formats are not padded by this.
    const Model half = with_weight_format(model, *storage_format("bf16"), false);
    CHECK(held_weights(shard(half, {}), 0, test::hardware("l40s"), test::engine("vllm-0.19")).experts ==
          Bytes{});
}

TEST_CASE("weights of gpt-oss-20b on H100 are those of published start-up logs", "[memory]") {
    const Model model = test::model("gpt-oss-20b");
    const Hardware h100 = test::hardware("h100-sxm");
    const Ledger two = ledger(shard(model, {.tp = 2}), 0, h100, test::engine("vllm-0.19"));
    CHECK(test::near(two.weights.in(GiB), 7.01, 5e-3));
    CHECK(two.padding > 0.07 * two.weights);
    CHECK(
        test::near((two.weights + two.activations + two.runtime + two.kv).base(), two.usable.base(), 1e-12));
    const Ledger one = ledger(shard(model, {}), 0, h100, test::engine("vllm-0.10"));
    CHECK(test::near(one.weights.in(GiB), 13.47, 5e-3));
}

TEST_CASE("a 72B model's halves leave ends of blocks that no other tensor fits in", "[memory]") {
    // Start-up logs of vLLM 0.19: Qwen2.5-72B over 2 GPUs takes 67.80 GiB; its tensors alone are 67.71 GiB.
    const Shard parts = shard(test::model("qwen2.5-72b"), {.tp = 2});
    const HeldWeights held = held_weights(parts, 0, test::hardware("h100-sxm"), test::engine("vllm-0.19"));
    CHECK(held.allocator == 80 * MiB);  // 80 layers, each a down projection of 115.5 granules
    CHECK(test::near((held.stored + padding(held)).in(GiB), 67.80, 5e-4));
}
