// SPDX-License-Identifier: Apache-2.0
#include "validate/calibration.h"

#include "catalogue.h"
#include "io/map_reader.h"
#include "validate/compare.h"

#include <filesystem>
#include <fstream>
#include <set>

using namespace headroom;

namespace {

DeviceCeilings measured() {
    DeviceCeilings m;
    m.device = "NVIDIA H200";
    m.date = "2026-11-29";
    m.conditions = "driver 580.159.04, CUDA 13.0, SM 1980 MHz";
    m.read = {4.7e12, 0.001};
    m.launch_in_stream = Seconds(4.8e-6);
    m.dependent_in_graph = Seconds(0.94e-6);
    m.products = {{"bf16", {742e12, 0.001}, 648e12}, {"fp8", {1260e12, 0.03}, {}}};
    return m;
}

/// Five per cent, but for what is known to be off (docs/mapping.md).
double counter_bound(const TrafficCount& c) {
    return c.mapping == "loss-fused" ? 0.09 : c.mapping == "mlp-fused" ? 0.07 : 0.05;
}

}  // namespace

TEST_CASE("a calibrated profile reads back with what was measured beside the datasheet's values",
          "[validate]") {
    const Hardware before = test::hardware("h200");
    const std::string once = calibrated_profile(read_file(before.file), before, measured());
    const auto path = std::filesystem::temp_directory_path() / "headroom-calibrated.yaml";
    std::ofstream(path) << once;
    const Hardware after = read_hardware(path.string(), test::source(""));
    std::filesystem::remove(path);
    CHECK(test::near(after.reach.memory_rate().base(), 4.7e12, 1e-4));
    CHECK(after.memory.bandwidth.value.base() == before.memory.bandwidth.value.base());
    CHECK(after.ceilings.values.at("memory").kind == SourceKind::measured);
    CHECK(test::near(after.reach.stream.issue.base(), 4.8e-6, 1e-3));
    CHECK(calibrated_profile(once, after, measured()) == once);
}

TEST_CASE("a device that reads faster than its datasheet is not written down", "[validate]") {
    const Hardware h200 = test::hardware("h200");
    DeviceCeilings m = measured();
    m.read.per_s = 4.9e12;
    CHECK_THROWS(calibrated_profile(read_file(h200.file), h200, m));
}

TEST_CASE("the recorded H200 runs are above their floors, and memory traffic is what is counted",
          "[validate]") {
    Profiles p;
    p.hardware = [](const std::string& name) { return test::hardware(name); };
    p.mapping = [](const std::string& name, const Overrides& set) {
        return read_mapping(test::source("mappings/" + name + ".yaml"), test::source(""), set);
    };
    const ValidateAnswer answer = compare({test::source("validate/measured")}, p);
    REQUIRE(answer.cases.size() > 700);
    for (const MeasuredCase& c : answer.cases) {
        INFO(c.where << " " << c.name);
        CHECK(c.refused.empty());
        if (c.measured_hbm && c.group.find("weight_stream") != std::string::npos)
            CHECK(test::near(c.measured_hbm->base(), c.predicted_hbm.base(), 0.03));
    }
    std::set<std::string> mappings;
    for (const TrafficCount& c : answer.counters) {
        INFO(c.where << " " << c.name << ": predicted " << c.predicted().base() << ", counted "
                     << c.counted().base());
        CHECK(std::abs(c.difference) <= counter_bound(c));
        mappings.insert(c.mapping);
    }
    for (const char* name :
         {"attention-standard", "attention-flash", "attention-decode-split", "attention-paged"})
        CHECK(mappings.count(name) == 1);
    CHECK(answer.overall.errors.rows >= 200);  // shapes that the profile was not fitted to
    CHECK(answer.overall.errors.mean_abs <= 0.07);
    CHECK(answer.overall.errors.p95_abs <= 0.15);
}
