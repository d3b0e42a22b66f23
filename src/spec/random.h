// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace headroom {

/// A well-mixed 64-bit hash (the finaliser of splitmix64, Steele, Lea and Flood 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/// xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64. The standard library's engines are the same
/// everywhere but its distributions are not, so those that are needed are here.
class Random {
  public:
    explicit Random(std::uint64_t seed) {
        for (std::uint64_t i = 0; auto& word : state_) word = mix(seed + 0x9e3779b97f4a7c15ull * i++);
    }

    std::uint64_t next() {
        const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    /// In [0, 1), 53 bits.
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    double exponential(double mean) { return -mean * std::log1p(-uniform()); }
    /// Below `n`; the bias of 2^-64 n does not matter here.
    std::uint64_t below(std::uint64_t n) {
        return static_cast<std::uint64_t>(uniform() * static_cast<double>(n));
    }
    double normal() {  // Box and Muller
        const double radius = std::sqrt(-2 * std::log1p(-uniform()));
        return radius * std::cos(2 * 3.14159265358979323846 * uniform());
    }
    /// Mean `shape`, scale 1 (Marsaglia and Tsang 2000).
    double gamma(double shape) {
        if (shape < 1) return gamma(shape + 1) * std::pow(1 - uniform(), 1 / shape);
        const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
        for (;;) {
            const double x = normal();
            const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
            if (v > 0 && std::log1p(-uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
        }
    }

  private:
    std::uint64_t state_[4];
};

}  // namespace headroom
