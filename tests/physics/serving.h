// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalogue.h"
#include "serving/simulator.h"

#include <random>

namespace headroom::test {

inline System one_replica(const std::string& name, int tp, const std::string& engine = "vllm",
                          const std::string& device = "h100-sxm") {
    System s;
    s.pools.push_back(
        {PoolRole::both, shard(test::model(name), {.tp = tp}), hardware(device), test::engine(engine), 1});
    return s;
}

// Requests with lengths of a log-normal kind and exponential gaps.
inline RequestSource traffic(std::int64_t requests, double rate, double input, double output,
                             unsigned seed = 1) {
    auto random = std::make_shared<std::mt19937_64>(seed);
    auto made = std::make_shared<std::int64_t>(0);
    auto time = std::make_shared<double>(0);
    return [=](Request& r) {
        if (*made >= requests) return false;
        const double uniform = std::uniform_real_distribution<>(1e-9, 1)(*random);
        if (*made > 0 && rate > 0) *time += -std::log(uniform) / rate;
        std::lognormal_distribution<> length(0, 0.8);
        r = {};
        r.arrival = Seconds(*time);
        r.input_tokens = std::max<std::int64_t>(1, std::llround(input * length(*random)));
        r.output_tokens = std::max<std::int64_t>(1, std::llround(output * length(*random)));
        ++*made;
        return true;
    };
}

inline RequestSource listed(std::vector<Request> requests) {
    auto next = std::make_shared<std::size_t>(0);
    return [=](Request& r) {
        if (*next == requests.size()) return false;
        r = requests[(*next)++];
        return true;
    };
}

}  // namespace headroom::test
