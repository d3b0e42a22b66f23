// SPDX-License-Identifier: Apache-2.0
#include "io/json_reader.h"

#include "check.h"

namespace {

using namespace headroom;

std::string faults_of(const std::string& text) {
    Faults faults("f.json");
    try {
        parse_json(text, faults);
        faults.finish();
    } catch (const InputError& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("JSON faults say where they are", "[io]") {
    CHECK(faults_of("{\"a\": 1,\n  \"a\": 2}") == "f.json:2:3: error: a: given twice, first in line 1");
    CHECK(faults_of("{\"a\": 1,\n  oops}").find("f.json:2:3: error: not valid JSON") == 0);
    CHECK(faults_of("[1]").find("f.json:1:1: error: a mapping") == 0);
    CHECK(faults_of("").find("f.json:1:1: error: not valid JSON") == 0);
    CHECK(
        faults_of("{\"a\": " + std::string(1000, '[') + std::string(1000, ']') + "}").find("nested deeper") !=
        std::string::npos);
}

TEST_CASE("bare NaN and Infinity are read as what they are and shift no position", "[io]") {
    Faults faults("f.json");
    const JsonValue v = parse_json(
        "{\"a\": [0.0, Infinity, -Infinity], \"b\": NaN, \"c\": \"Infinity\",\n \"d\": 1, \"d\": 2}", faults);
    REQUIRE(v.members.size() == 5);
    CHECK(v.members[0].value.items[1].kind == JsonValue::Kind::not_finite);
    CHECK(v.members[0].value.items[2].kind == JsonValue::Kind::not_finite);
    CHECK(v.members[1].value.kind == JsonValue::Kind::not_finite);
    CHECK(v.members[2].value.kind == JsonValue::Kind::text);
    CHECK(v.members[2].value.text == "Infinity");
    CHECK(v.members[3].line == 2);
    CHECK(v.members[3].column == 2);
    CHECK(faults.any());
}

TEST_CASE("quotes and brackets inside texts do not mislead", "[io]") {
    Faults faults("f.json");
    const JsonValue v = parse_json("{\"a\\\"b\": \"NaN {\\\\\", \"x\": 3}", faults);
    REQUIRE(v.members.size() == 2);
    CHECK(v.members[0].key == "a\"b");
    CHECK(v.members[0].column == 2);
    CHECK(v.members[0].value.text == "NaN {\\");
    CHECK(v.members[1].value.whole == 3);
}

TEST_CASE("two names of one thing must agree", "[io]") {
    Faults faults("f.json");
    const JsonValue v = parse_json("{\"n_head\": 8,\n\"num_heads\": 9, \"rest\": {\"deep\": 1}}", faults);
    JsonMap map = JsonMap::root(v, faults);
    CHECK(map.count({"num_heads", "n_head"}) == 9);
    CHECK(faults.any());
    auto rest = map.map("rest");
    REQUIRE(rest);
    const auto unused = map.unused();
    REQUIRE(unused.size() == 1);
    CHECK(unused[0].path == "rest.deep");
}
