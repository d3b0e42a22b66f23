// SPDX-License-Identifier: Apache-2.0
#include "validate/mapping_counters.h"

#include "catalogue.h"
#include "check.h"
#include "mapping/analysis.h"
#include "tiled_product/product_cut.h"

#include <map>

using namespace headroom;
using kernels::Case;
using kernels::CaseKind;

namespace {

MappedComputation library_mapping(const std::string& name, const Overrides& set = {}) {
    return read_mapping(test::source("mappings/" + name + ".yaml"), test::source(""), set);
}

Profiles profiles() {
    Profiles p;
    p.hardware = [](const std::string& name) { return test::hardware(name); };
    p.mapping = library_mapping;
    return p;
}

std::map<std::string, std::int64_t> tiles(const std::string& mapping) {
    std::map<std::string, std::int64_t> all;
    for (const TileFactor& t : library_mapping(mapping).mapping.tiles) all[t.name] = t.value;
    return all;
}

// `kernels` is a JSON array of what ncu counted.
std::string recording(const std::string& shape, const std::string& kernels) {
    return R"({"schema": "headroom.measured/1", "environment": {"device": "NVIDIA H200"}, "cases": [],
               "counters": [{"case": "one", )" +
           shape + R"(, "kernels": )" + kernels + "}]}";
}

const std::string kLayer =
    R"("operator": "mlp", "dtype": "bf16", "tokens": 8192, "hidden": 4096, "inner": 14336,
                              "gated": true, "fused": true)";

}  // namespace

TEST_CASE("the kernels are cut as the mappings that describe them", "[validate]") {
    using namespace headroom::kernels;
    for (const char* name :
         {"mlp-unfused", "mlp-fused", "mlp-gated-unfused", "mlp-gated-fused", "loss-unfused"}) {
        INFO(name);
        auto t = tiles(name);
        CHECK(t["bm"] == kTileTokens);
        CHECK(t["bn"] == kTileColumns);
        CHECK(t["bk"] == kTileDepth);
        CHECK(t["group"] == kTokenGroup);
    }
    CHECK(tiles("mlp-gated-fused")["bg"] == kGatedColumns);
    auto t = tiles("loss-fused");
    CHECK(t["bt"] == kTileTokens);
    CHECK(t["bu"] == kTileColumns);
    CHECK(t["bk"] == kTileDepth);
    CHECK(t["group"] == kLossTokenGroup);
}

TEST_CASE("as many blocks of the fused kernels are on an SM as their mappings say", "[validate]") {
    // The kernels ask the compiler for registers of so many (ProductTile::kBlocks).
    const MappingDevice h200 = mapping_device(test::hardware("h200"));
    CHECK(analyse(library_mapping("mlp-fused"), h200).kernels[0].blocks_per_sm == 2);
    CHECK(analyse(library_mapping("mlp-gated-fused"), h200).kernels[0].blocks_per_sm == 3);
    CHECK(analyse(library_mapping("loss-fused"), h200).kernels[0].blocks_per_sm == 2);
}

TEST_CASE("a counter of its own shape is read back and compared", "[validate]") {
    const auto run = measured_run(recording(kLayer, R"([{"kernel": "tiled_product_kernel", "read_bytes": 3e9,
        "written_bytes": 2e8}, {"kernel": "drain", "read_bytes": 5e8, "written_bytes": 3e7}])"),
                                  "f.json");
    REQUIRE(run);
    REQUIRE(run->counters.size() == 1);
    const CountedLaunch& launch = run->counters[0];
    CHECK(kernels::describe(launch.shape) == "mlp bf16 t8192 4096x14336 gated fused");
    CHECK(launch.read == Bytes(3e9));  // what the drain read is other memory
    CHECK(launch.written == Bytes(2.3e8));
    const auto count = traffic_count(launch, "f.json", test::hardware("h200"), profiles());
    REQUIRE(count);
    CHECK(count->mapping == "mlp-gated-fused");
    CHECK(count->predicted_writes == Bytes(8192.0 * (14336 + 4096) * 2));
    CHECK(count->counted() == Bytes(3.23e9));
    CHECK(test::near(count->difference, count->predicted() / Bytes(3.23e9) - 1));
}

TEST_CASE("without a drain only reads are compared", "[validate]") {
    const auto run = measured_run(
        recording(kLayer, R"([{"kernel": "a", "read_bytes": 3e9, "written_bytes": 2e8}])"), "f.json");
    const auto count = traffic_count(run->counters.at(0), "f.json", test::hardware("h200"), profiles());
    CHECK(count->counted() == Bytes(3e9));
    CHECK(count->predicted() == count->predicted_reads);
}

TEST_CASE("a counter of no known case is refused", "[validate]") {
    CHECK_THROWS(measured_run(recording(R"("dtype": "bf16")", "[]"), "f.json"));
    CHECK_THROWS(
        measured_run(recording(R"("operator": "mlp", "dtype": "bf16", "tokens": 0)", "[]"), "f.json"));
}

TEST_CASE("launches find their mappings with their sizes", "[validate]") {
    const Hardware h200 = test::hardware("h200");
    Case c;
    c.op = CaseKind::kLoss;
    c.tokens = 64;
    c.hidden = 128;
    c.vocabulary = 1000;
    const auto loss = mapping_of(c, h200);
    REQUIRE(loss);
    CHECK(loss->name == "loss-unfused");
    CHECK(loss->set.at("vocabulary") == "1024");  // 8 parts of 128 columns
    c.op = CaseKind::kFlashAttention;
    c.query_heads = 32;
    c.kv_heads = 8;
    CHECK_FALSE(mapping_of(c, h200));
    c.op = CaseKind::kPagedDecodeAttention;
    c.batch = 4;
    c.context = 8192;
    const auto paged = mapping_of(c, h200);
    REQUIRE(paged);
    CHECK(paged->set.at("g") == "4");
    CHECK(paged->set.at("R") == "16");
    CHECK(std::stoi(paged->set.at("C")) > 1);  // 32 blocks would not fill the device
    c.ragged = true;
    CHECK_FALSE(mapping_of(c, h200));
    c.op = CaseKind::kWeightStream;
    CHECK_FALSE(mapping_of(c, h200));
}
