// SPDX-License-Identifier: Apache-2.0
#include "io/mapping_yaml.h"

#include "check.h"
#include "io/catalogue.h"
#include "mapping/legality.h"

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace headroom;
using headroom::test::source;

namespace {

MappedComputation read_text(const std::string& text, const Overrides& set = {}) {
    const auto path = std::filesystem::temp_directory_path() / "headroom_mapping_test.yaml";
    std::ofstream(path) << text;
    return read_mapping(path.string(), source(""), set);
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    std::string changed(text, 0, at);
    changed.append(to);
    changed.append(text, at + from.size());
    return changed;
}

std::string faults_of(const std::string& text, const Overrides& set = {}) {
    try {
        read_text(text, set);
    } catch (const InputError& e) {
        return e.what();
    }
    return "";
}

const std::string kProduct = R"(schema: headroom.mapping/1
name: product
title: a product
computation:
  dimensions: {m: 64, n: 32, k: m / 4}
  tensors:
    A: {index: "m, k", type: fp16}
    B: {index: "k, n", type: fp16}
    C: {index: "m, n", type: fp16}
  statements:
    - {name: multiply, kind: product, output: C, inputs: [A, B]}
mapping:
  tiles:
    bm: {value: 16}
  kernels:
    - name: product
      loops: [blocks m by bm]
      stage: {sram: [A, B], registers: [C]}
      run: multiply
)";

}  // namespace

TEST_CASE("every mapping of the library reads and is legal", "[mapping][io]") {
    const std::string data = source("");
    const auto names = entry_names(data, "mappings");
    REQUIRE(names.size() >= 2);
    for (const std::string& name : names) {
        INFO(name);
        const MappedComputation nest = read_mapping(find_entry(data, "mappings", name), data);
        CHECK(nest.mapping.name == name);
        for (const std::string& fault : mapping_faults(nest)) FAIL_CHECK(fault);
    }
}

TEST_CASE("sizes follow from one another, and --set reaches dimensions and tiles by name", "[mapping][io]") {
    const MappedComputation nest = read_text(kProduct);
    CHECK(nest.computation.dimensions[2].size == 16);
    const MappedComputation wide = read_text(kProduct, {{"m", "128"}, {"bm", "32"}});
    CHECK(wide.computation.dimensions[2].size == 32);
    CHECK(wide.mapping.tiles[0].value == 32);
    CHECK(faults_of(kProduct, {{"mm", "3"}}).find("no such dimension or tile factor") != std::string::npos);
    CHECK(faults_of(kProduct, {{"m", "0"}}).find("below 1") != std::string::npos);
    CHECK(faults_of(kProduct, {{"m", "66"}}).find("not divisible by 4") != std::string::npos);
}

TEST_CASE("a fault of a mapping names its line and what was probably meant", "[mapping][io]") {
    CHECK(faults_of(replaced(kProduct, "inputs: [A, B]", "inputs: [A, BB]")).find(":11:") !=
          std::string::npos);
    CHECK(faults_of(replaced(kProduct, "m by bm", "m by bn")).find("did you mean \"bm\"") !=
          std::string::npos);
    CHECK(faults_of(replaced(kProduct, "\"m, k\"", "\"m, q\"")).find("no dimension \"q\"") !=
          std::string::npos);
    CHECK(faults_of(replaced(kProduct, "\"m, k\"", "\"m*k\"")).find("not affine") != std::string::npos);
    CHECK(
        faults_of(replaced(kProduct, "run: multiply", "run: multiply\n      runs: 2")).find("unknown key") !=
        std::string::npos);
    CHECK(faults_of(replaced(kProduct, "m by bm", "m bm")).find("is not \"[blocks|warps|time]") !=
          std::string::npos);
}

TEST_CASE("an order that does not compute what is asked is refused with its reason", "[mapping]") {
    const auto reason = [](const std::string& text) {
        const auto faults = mapping_faults(read_text(text));
        return faults.empty() ? std::string() : faults.front();
    };
    CHECK(reason(kProduct).empty());
    CHECK(reason(replaced(kProduct, "blocks m by bm", "blocks m by bm, blocks k by 4")).find("sums over k") !=
          std::string::npos);
    CHECK(reason(replaced(kProduct, "sram: [A, B]", "sram: [A]")).find("uses B") != std::string::npos);

    std::ifstream file(source("mappings/attention-flash.yaml"));
    std::stringstream text;
    text << file.rdbuf();
    const std::string flash = replaced(text.str(), "home: {registers: [S, P,", "home: {registers: [S,");
    CHECK(reason(flash).find("P would leave the chip before row maximum is final") != std::string::npos);
}
