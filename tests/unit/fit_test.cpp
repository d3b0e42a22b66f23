// SPDX-License-Identifier: Apache-2.0
#include "validate/fit.h"

#include "check.h"
#include "validate/ceilings_fit.h"

#include <cmath>

using namespace headroom;

TEST_CASE("a fit finds latency and bandwidth again, with one row in ten wrong by a factor of five",
          "[validate]") {
    const double latency = 3, rate = 7;
    std::vector<double> sizes, times;
    for (int i = 1; i <= 200; ++i) {
        sizes.push_back(i);
        times.push_back((latency + i / rate) * (i % 10 == 0 ? 5 : 1));
    }
    const std::vector<FitParameter> parameters{{"latency", 1, 0.1, 50}, {"rate", 2, 0.1, 100}};
    const auto values = fit(parameters, 200, [&](std::span<const double> x, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::log((x[0] + sizes[i] / x[1]) / times[i]);
    });
    CHECK(std::abs(values[0] - latency) < 0.1);
    CHECK(std::abs(values[1] - rate) < 0.3);
}

TEST_CASE("a fit stays within its bounds", "[validate]") {
    const std::vector<FitParameter> parameters{{"x", 2, 1, 3}};
    const auto values =
        fit(parameters, 1, [](std::span<const double> x, std::span<double> out) { out[0] = x[0] - 9; });
    CHECK(values[0] <= 3);
    CHECK(values[0] > 2.9);
}

TEST_CASE("a random half is a half, the same every time, another with another seed", "[validate]") {
    const auto half = random_half(1001, 0);
    CHECK(std::count(half.begin(), half.end(), true) == 500);
    CHECK(half == random_half(1001, 0));
    CHECK(half != random_half(1001, 1));
}

TEST_CASE("kernel tables are recognised by their header and read with their units", "[validate]") {
    const std::string text =
        "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_"
        "dim,"
        "beam_width,attn_dtype,kv_cache_dtype,step,latency\r\n"
        "VLLM,0.14.0,NVIDIA H100 80GB "
        "HBM3,generation_attention,vllm_flash_attn,32,1,64,8,128,1,bfloat16,fp8,1023,"
        "0.05\r\n";
    const auto cases = kernel_cases(parse_csv(text, "a.csv"), "a.csv");
    REQUIRE(cases);
    REQUIRE(cases->size() == 1);
    const auto& s = std::get<DecodeCase>(cases->front().shape).shape;
    CHECK(s.context == 1024);
    CHECK(s.cache_element == 1);
    CHECK(test::near(cases->front().measured.in(us), 50));
    CHECK_FALSE(kernel_cases(parse_csv("a,b\n1,2\n", "b.csv"), "b.csv"));
    CHECK_THROWS(parse_csv("a,b\n1\n", "c.csv"));
}
