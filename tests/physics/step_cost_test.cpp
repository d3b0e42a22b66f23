// SPDX-License-Identifier: Apache-2.0
#include "serving/step_cost.h"

#include "catalogue.h"

#include <random>

using namespace headroom;

namespace {

StepShape random_shape(std::mt19937_64& random, std::int64_t budget) {
    const auto up_to = [&](double most) {
        return static_cast<std::int64_t>(
            std::exp(std::uniform_real_distribution<>(0, std::log(most))(random)));
    };
    StepShape s;
    s.decodes = up_to(600);
    for (std::int64_t i = 0; i < s.decodes; ++i) s.decode_context += 64 + up_to(4000);
    const std::int64_t chunks = std::uniform_int_distribution<>(0, 5)(random);
    std::int64_t left = budget - s.decodes;
    for (std::int64_t i = 0; i < chunks && left > 0; ++i) {
        const std::int64_t fresh = std::min(left, up_to(6000));
        s.chunks.push_back({fresh, i == 0 ? up_to(8000) : 0, true});
        left -= fresh;
    }
    return s;
}

}  // namespace

TEST_CASE("interpolated steps keep to the stated distance from exact ones", "[serving][physics]") {
    for (const int tp : {1, 4}) {
        const Shard part =
            shard(tp == 1 ? test::model("llama-3-8b") : test::model("llama-3-70b"), {.tp = tp});
        const Hardware h = test::hardware("h100-sxm");
        const Engine e = test::engine("vllm");
        StepCosts costs(part, h, e);
        std::mt19937_64 random(7);
        double sum = 0, most = 0;
        int count = 0;
        for (int i = 0; i < 600; ++i) {
            const StepShape s = random_shape(random, 8192);
            const double exact = costs.exact(s).latency;
            const double error = std::abs(costs(s).latency / exact - 1);
            sum += error;
            most = std::max(most, error);
            ++count;
        }
        CHECK(sum / count < 0.01);
        CHECK(most < 0.08);
    }
}
