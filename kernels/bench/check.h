// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/random.h"

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>

// What the checks of all operators share.

namespace headroom::kernels {

class Report {
  public:
    void line(const std::string& what, double error, double limit) {
        const bool right = error <= limit;  // false for NaN
        ++lines_;
        if (!right) ++failures_;
        std::printf("%-6s %-92s error %.2e (limit %.0e)\n", right ? "ok" : "FAILED", what.c_str(), error,
                    limit);
    }
    int failures() const { return failures_; }
    int lines() const { return lines_; }

  private:
    int failures_ = 0, lines_ = 0;
};

struct Random {
    const OwnedStream stream;
    std::uint64_t seed;

    DeviceBuffer normal(std::size_t count, DType type, float deviation) {
        DeviceBuffer buffer(count * size_of(type));
        fill_normal(buffer.data(), count, type, deviation, ++seed, stream);
        stream.synchronize();
        return buffer;
    }
    DeviceBuffer poisoned(std::size_t count, DType type) const {
        DeviceBuffer buffer(count * size_of(type));
        poison(buffer.data(), buffer.bytes(), stream);
        stream.synchronize();
        return buffer;
    }
};

inline std::size_t count_of(std::initializer_list<int> factors) {
    std::size_t result = 1;
    for (const int factor : factors) result *= static_cast<std::size_t>(factor);
    return result;
}

// Feed-forward layers and cross entropy.
void check_products(bool quick, Random& random, Report& report);

}  // namespace headroom::kernels
