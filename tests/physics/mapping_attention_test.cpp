// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "io/catalogue.h"
#include "io/hardware_yaml.h"
#include "io/mapping_yaml.h"
#include "mapping/analysis.h"
#include "ops/work.h"

using namespace headroom;
using headroom::test::near;
using headroom::test::source;

namespace {

MappedComputation mapping(const std::string& name, const Overrides& set = {}) {
    return read_mapping(source("mappings/" + name + ".yaml"), source(""), set);
}

MappingDevice device(const std::string& name) {
    return mapping_device(read_hardware(source("hwprofiles/" + name + ".yaml"), source("")));
}

std::int64_t words(const Analysis& a, const MappedComputation& nest, const std::string& tensor,
                   MemoryLevel level, bool reads) {
    for (const TensorTraffic& t : a.tensors) {
        if (nest.computation.tensors[t.tensor].name != tensor) continue;
        const Moved& m = t.words[static_cast<std::size_t>(level)];
        return reads ? m.reads : m.writes;
    }
    return 0;
}

}  // namespace

TEST_CASE("standard attention moves four S x S passes: 537 MB for 4 S^2 d FLOPs", "[mapping][physics]") {
    const std::int64_t S = 8192, d = 128;
    const MappedComputation nest = mapping("attention-standard");
    const Analysis a = analyse(nest, device("a100-sxm-80gb"));
    CHECK(a.product_flop == 4 * S * S * d);
    using enum MemoryLevel;
    CHECK(words(a, nest, "S", hbm, false) == S * S);
    CHECK(words(a, nest, "S", hbm, true) == S * S);
    CHECK(words(a, nest, "P", hbm, false) == S * S);
    CHECK(words(a, nest, "P", hbm, true) == S * S);
    CHECK(near(2.0 * 4 * double(S) * S, 537e6, 0.001));
    CHECK(double(a.hbm_bytes) > 537e6);
    CHECK(double(a.hbm_bytes) < 1.03 * 537e6);
    CHECK(a.fits);
}

TEST_CASE("fused attention reads K and V once per query tile, and L2 absorbs all but one of them",
          "[mapping][physics]") {
    const std::int64_t S = 8192, d = 128, tiles = S / 128;
    const MappedComputation nest = mapping("attention-flash");
    const Analysis a = analyse(nest, device("a100-sxm-80gb"));
    CHECK(a.product_flop == analyse(mapping("attention-standard"), device("a100-sxm-80gb")).product_flop);
    using enum MemoryLevel;
    CHECK(words(a, nest, "K", l2, true) == tiles * S * d);
    CHECK(words(a, nest, "V", l2, true) == tiles * S * d);
    CHECK(words(a, nest, "Q", l2, true) == S * d);
    CHECK(words(a, nest, "K", hbm, true) == S * d);
    CHECK(words(a, nest, "S", l2, false) == 0);
    CHECK(a.hbm_bytes == 4 * S * d * 2);
    CHECK(a.fits);
}

TEST_CASE("a mapping's FLOPs are those of the operator", "[mapping][physics]") {
    const MappedComputation nest = mapping("attention-flash", {{"h", "32"}, {"S", "4096"}});
    const double pairs = 4096.0 * 4096.0;
    const Flops once = work(Matmul{.rows = 4096, .outputs = 4096, .inputs = 128}).flop;
    CHECK(double(analyse(nest, device("h100-sxm")).product_flop) == 2 * 32 * once.in(flop));
    CHECK(double(product_flop(nest.computation)) == 4 * 32 * pairs * 128);
}

TEST_CASE("no kernel is faster than its floor", "[mapping][physics]") {
    for (const char* name : {"attention-standard", "attention-flash"}) {
        for (const char* heads : {"1", "32"}) {
            const Analysis a = analyse(mapping(name, {{"h", heads}}), device("h100-sxm"));
            CHECK(a.floor <= a.expected);
            CHECK(a.floor > Seconds{});
        }
    }
}

TEST_CASE("with keys outside, partial results go out and back once per tile of keys", "[mapping][physics]") {
    const std::int64_t S = 8192, d = 128, tiles = S / 128;
    const MappedComputation nest = mapping("attention-flash-key-outer");
    const Analysis a = analyse(nest, device("a100-sxm-80gb"));
    using enum MemoryLevel;
    CHECK(words(a, nest, "K", l2, true) == S * d);
    CHECK(words(a, nest, "Q", l2, true) == tiles * S * d);
    CHECK(words(a, nest, "A", l2, false) == tiles * S * d);
    CHECK(words(a, nest, "A", l2, true) == (tiles - 1) * S * d + S * d);  // and once more to normalise
    CHECK(a.product_flop == 4 * S * S * d);
}

TEST_CASE("what does not fit L2 is read again", "[mapping][physics]") {
    // One head of 512k tokens: K and V are 268 MB, which an A100's waves read anew.
    const std::int64_t S = 1 << 19, d = 128;
    const MappedComputation nest = mapping("attention-flash", {{"S", "524288"}});
    const Analysis a = analyse(nest, device("a100-sxm-80gb"));
    const std::int64_t waves = a.kernels[0].waves;
    REQUIRE(waves > 4);
    CHECK(words(a, nest, "K", MemoryLevel::hbm, true) == waves * S * d);
    CHECK(words(a, nest, "K", MemoryLevel::l2, true) == S / 128 * S * d);
}

TEST_CASE("a cached word is read once however many query heads share it", "[mapping][physics]") {
    for (const auto& [name, heads] : {std::pair{"attention-decode-split", 32}, std::pair{"attention-gqa", 8},
                                      std::pair{"attention-mqa", 1}, std::pair{"attention-paged", 32}}) {
        INFO(name);
        const MappedComputation nest = mapping(name);
        const Analysis a = analyse(nest, device("h100-sxm"));
        CHECK(words(a, nest, "K", MemoryLevel::hbm, true) == std::int64_t{4} * heads * 32768 * 128);
        CHECK(a.product_flop == std::int64_t{4} * 4 * 32 * 32768 * 128);
        CHECK(a.bound == "memory");
    }
}

TEST_CASE("splitting the context fills the machine, and the merge costs less than it gains",
          "[mapping][physics]") {
    const Overrides one{{"b", "1"}};
    const Analysis whole = analyse(mapping("attention-decode", one), device("h100-sxm"));
    const Analysis split = analyse(mapping("attention-decode-split", one), device("h100-sxm"));
    CHECK(whole.product_flop == split.product_flop);
    CHECK(whole.kernels[0].blocks == 32);
    CHECK(split.expected < whole.expected);
    CHECK(split.hbm_bytes > whole.hbm_bytes);
}

TEST_CASE("fusing saves what it should in each pair", "[mapping][physics]") {
    const MappingDevice h100 = device("h100-sxm");
    for (const auto& [unfused, fused] :
         {std::pair{"mlp-unfused", "mlp-fused"}, std::pair{"mlp-gated-unfused", "mlp-gated-fused"},
          std::pair{"loss-unfused", "loss-fused"}, std::pair{"linear-attention-unfused", "linear-attention"},
          std::pair{"convolution-unfused", "convolution"},
          std::pair{"convolution-pair-unfused", "convolution-pair-fused"},
          std::pair{"layernorm-product-unfused", "layernorm-product"}}) {
        INFO(unfused);
        const Analysis a = analyse(mapping(unfused), h100);
        const Analysis b = analyse(mapping(fused), h100);
        CHECK(a.product_flop == b.product_flop);
        CHECK(b.levels[0].writes_bytes < a.levels[0].writes_bytes);
        // Fewer blocks of the fused norm and product fit an SM, so the waves are smaller and the weights come
        // more often: what is not written is not all saved.
        if (std::string_view(fused) != "layernorm-product") CHECK(b.hbm_bytes < a.hbm_bytes);
        CHECK(b.hbm_bytes >= b.compulsory_bytes);
    }
    // Two passes over the hidden activations: written and read by the activation's own kernel.
    const MappedComputation mlp = mapping("mlp-unfused");
    CHECK(words(analyse(mlp, h100), mlp, "U", MemoryLevel::hbm, true) == std::int64_t{8192} * 14336);
    CHECK(words(analyse(mapping("mlp-fused"), h100), mlp, "U", MemoryLevel::hbm, true) == 0);
    // A wide output's partial sums cost more than the hidden activations that they save.
    CHECK(analyse(mapping("mlp-fused-chain"), h100).expected > analyse(mlp, h100).expected);
}
