// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include "base/units.h"
#include "check.h"

using namespace headroom;
using headroom::test::near;

static_assert((80 * GB).in(GB) == 80);
static_assert(GiB > GB, "a binary unit is larger than the decimal one of the same letter");

TEST_CASE("a ratio of bytes is a plain number, bytes over bandwidth a time", "[base]") {
    const Bandwidth rate = 3.35 * (TB / second);
    const Seconds time = (67.0 * GB) / rate;
    CHECK(near(time.in(ms), 20.0));
    CHECK(near((2.0 * GB) / (1.0 * GB), 2.0));
}

TEST_CASE("a quantity needs its unit, and GB is not GiB", "[base]") {
    const Dimension bytes{.byte = 1};
    CHECK(std::get<double>(parse_quantity("80GB", bytes)) == 80e9);
    CHECK(std::get<double>(parse_quantity(" 79.19 GiB ", bytes)) == 79.19 * 1024 * 1024 * 1024);
    CHECK(std::get<ParseFault>(parse_quantity("80", bytes)).suggestion == "80 GB");
    CHECK(std::get<ParseFault>(parse_quantity("80 gb", bytes)).suggestion == "GB");
    CHECK(std::holds_alternative<ParseFault>(parse_quantity("3.35 TB/s", bytes)));
    CHECK(std::holds_alternative<ParseFault>(parse_quantity("inf GB", bytes)));
}

TEST_CASE("rates, times and counts read and print in the same units", "[base]") {
    CHECK(near(std::get<double>(parse_quantity("3.35 TB/s", {.byte = 1, .second = -1})), 3.35e12));
    CHECK(near(std::get<double>(parse_quantity("2.5 USD/h", {.second = -1, .usd = 1})), 2.5 / 3600));
    CHECK(near(std::get<double>(parse_quantity("500ms", {.second = 1})), 0.5));
    CHECK(std::get<std::int64_t>(parse_count("4k")) == 4000);
    CHECK(std::get<std::int64_t>(parse_count("010")) == 10);
    CHECK(std::holds_alternative<ParseFault>(parse_count("1.5")));
    CHECK(format(3.35 * (TB / second)) == "3.35 TB/s");
    CHECK(format(20.9 * ms) == "20.9 ms");
    CHECK(format_count(19366) == "19,366");
    CHECK(format_binary(79.19 * GiB) == "79.19 GiB");
}
