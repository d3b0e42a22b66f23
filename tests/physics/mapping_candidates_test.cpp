// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "io/hardware_yaml.h"
#include "mapping/candidates.h"

using namespace headroom;
using headroom::test::near;
using headroom::test::source;

namespace {

MappingDevice h100() { return mapping_device(read_hardware(source("hwprofiles/h100-sxm.yaml"), source(""))); }

const FusionCandidate* find(const std::vector<FusionCandidate>& all, const std::string& name) {
    for (const FusionCandidate& c : all) {
        if (c.name == name) return &c;
    }
    return nullptr;
}

std::vector<Operator> layer(double prompt) {
    Attention attention;
    attention.groups = prefill_batch(1, prompt).groups;
    attention.heads = 32;
    attention.kv_heads = 8;
    attention.key_dim = attention.value_dim = 128;
    const Matmul up{.rows = prompt, .outputs = 28672, .inputs = 4096};
    const Matmul down{.rows = prompt, .outputs = 4096, .inputs = 14336};
    return {{"attention", attention, 4},
            {"o_proj", Matmul{.rows = prompt, .outputs = 4096, .inputs = 4096}, 4},
            {"up", up, 4},
            {"up activation", Stream{}, 4},
            {"down", down, 4}};
}

}  // namespace

TEST_CASE("scores are the intermediate that fusing saves most, and their softmax is streamable",
          "[mapping][physics]") {
    const auto all = fusion_candidates(layer(8192), h100());
    REQUIRE(!all.empty());
    const FusionCandidate& first = all.front();
    CHECK(first.name == "attention scores");
    CHECK(first.between == Between::streamable);
    CHECK(first.fits);
    CHECK(near(first.saved.in(MB), 4.0 * 32 * 537, 0.001));  // layers x heads x 537 MB
}

TEST_CASE("an activation fuses into the product before it, an output projection not into attention",
          "[mapping][physics]") {
    const auto all = fusion_candidates(layer(8192), h100());
    const FusionCandidate* activation = find(all, "up output");
    REQUIRE(activation != nullptr);
    CHECK(activation->between == Between::nothing);
    CHECK(activation->fits);
    const FusionCandidate* projection = find(all, "o_proj input");
    REQUIRE(projection != nullptr);
    CHECK(projection->between == Between::sum);
    CHECK(!projection->fits);  // 16 rows of 4096 sums and their weights exceed one SM
}

TEST_CASE("small intermediates are left out, and a collective needs its whole input", "[mapping][physics]") {
    CHECK(fusion_candidates(layer(16), h100()).empty());
    std::vector<Operator> step = layer(8192);
    step.insert(step.begin() + 1, {"all_reduce", Collective{}, 4});
    CHECK(find(fusion_candidates(step, h100()), "o_proj input") == nullptr);
}
