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
