// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "io/model_reader.h"

namespace {

using namespace headroom;

const std::string kModel = R"(schema: headroom.model/1
name: small
hidden: 64
vocabulary: 100
kinds:
  local:
    attention: {kind: softmax, heads: 4, kv_heads: 2, head_dim: 16, window: 8}
    feed_forward: {kind: dense, intermediate: 128}
  global:
    attention: {kind: softmax, heads: 4, kv_heads: 2, head_dim: 16}
    feed_forward: {kind: experts, experts: 8, top_k: 2, intermediate: 32}
)";

std::string fault_of(const std::string& text) {
    try {
        read_model_yaml("m.yaml", text);
    } catch (const InputError& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("layouts are written by their periods and read back", "[io]") {
    const std::vector<std::string> names{"local", "global", "dense"};
    const auto round = [&](const std::vector<int>& layout, const std::string& text) {
        CHECK(write_layout(layout, names) == text);
        const auto back = read_layout(text, names);
        REQUIRE(std::holds_alternative<std::vector<int>>(back));
        CHECK(std::get<std::vector<int>>(back) == layout);
    };
    round({0}, "local");
    round({0, 0, 0}, "3*local");
    round({0, 0, 1, 0, 0, 1, 0}, "2*(2*local global) local");
    round({2, 0, 1, 0, 1, 0, 1, 2, 2}, "dense 3*(local global) 2*dense");
    std::vector<int> gemma;
    for (int i = 0; i < 62; ++i) gemma.push_back((i + 1) % 6 == 0 ? 1 : 0);
    round(gemma, "10*(5*local global) 2*local");
}

TEST_CASE("faults of a layout say what and where", "[io]") {
    CHECK(fault_of(kModel + "layout: 2*(local globl)\n").find("no kind of layer \"globl\"") !=
          std::string::npos);
    CHECK(fault_of(kModel + "layout: 2*(local globl)\n").find("did you mean \"global\"?") !=
          std::string::npos);
    CHECK(fault_of(kModel + "layout: 2*(local\n").find("\")\" is missing") != std::string::npos);
    CHECK(fault_of(kModel + "layout: x*local\n").find("a count is needed") != std::string::npos);
    CHECK(fault_of(kModel + "layout: 9999999999*local\n") != "");
    CHECK(fault_of(kModel + "layout: local)\n") != "");
    CHECK(fault_of(kModel + "layout: \"9999*(9999*(9999*local))\"\n").find("more layers") !=
          std::string::npos);
}

TEST_CASE("our YAML reads back as the same model and takes what-ifs", "[io]") {
    const Model m = read_model_yaml("m.yaml", kModel + "layout: 3*(local global)\n");
    CHECK(read_model_yaml("again", write_model_yaml(m)) == m);
    CHECK(std::get<MixtureOfExperts>(m.kinds[1].feed_forward).local_experts == 8);
    const Overrides what_if{{"kinds.local.attention.kv_heads", "1"}, {"layout", "4*local"}};
    const Model changed = read_model_yaml("m.yaml", kModel + "layout: 3*(local global)\n", what_if);
    CHECK(std::get<SoftmaxAttention>(changed.kinds[0].mixer).kv_heads == 1);
    CHECK(changed.layout.size() == 4);
}

TEST_CASE("unknown keys of our YAML are refused with a suggestion", "[io]") {
    CHECK(fault_of(kModel + "layout: local\nhiden: 4\n")
              .find("m.yaml:13:1: error: hiden: unknown key; did you mean \"hidden\"?") == 0);
    std::string text = kModel + "layout: local\n";
    text.replace(text.find("window"), 6, "windw");
    CHECK(fault_of(text).find("kinds.local.attention.windw: unknown key; did you mean \"window\"?") !=
          std::string::npos);
    text = kModel + "layout: local\n";
    text.replace(text.find("kv_heads: 2"), 11, "kv_heads: 3");
    CHECK(fault_of(text).find("3 key-value heads do not divide 4 heads") != std::string::npos);
}

TEST_CASE("storage formats have names that read back as the same format", "[spec]") {
    CHECK(bits(ElementType::int4) == 4);
    // 4 bits, an fp16 scale per 128, and a zero point of 4 or 16 bits or none.
    CHECK(8 * bytes_per_element(*storage_format("int4-g128")).base() == 4.125);
    CHECK(8 * bytes_per_element(*storage_format("int4")).base() == 4.15625);
    CHECK(8 * bytes_per_element(*storage_format("int4-g128-z16")).base() == 4.25);
    CHECK(8 * bytes_per_element(*storage_format("nvfp4")).base() == 4.5);
    CHECK(8 * bytes_per_element(*storage_format("mxfp4")).base() == 4.25);
    CHECK(test::near(8 * bytes_per_element(*storage_format("fp8-block128")).base(), 8 + 32.0 / (128 * 128)));
    for (const std::string& name : storage_format_names()) CHECK(to_string(*storage_format(name)) == name);
    for (const char* name : {"int4-g32", "int4-g128-zp", "int8-g64-s32", "int4-g64-z16", "nvfp4-w", "fp8-w",
                             "int8-g32-r4", "fp8-g128-s32", "bf16"}) {
        const auto format = storage_format(name);
        REQUIRE(format);
        CHECK(storage_format(to_string(*format)) == format);
    }
    for (const char* name : {"", "fp9", "int4-", "int4-g0", "int4-gx", "int4-g-4", "bf16-q"})
        CHECK(!storage_format(name));
    CHECK(compute_type(*storage_format("int4")) == ElementType::bf16);
    CHECK(compute_type(*storage_format("fp8")) == ElementType::fp8);
}
