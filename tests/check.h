// SPDX-License-Identifier: Apache-2.0
#pragma once

// Catch2 is version 2 on Debian 12 and 3 on newer systems.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <cmath>
#include <string>

namespace headroom::test {

/// Relative difference at most `tolerance`.
inline bool near(double a, double b, double tolerance = 1e-9) {
    return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

/// A file of the source tree.
inline std::string source(const std::string& path) { return std::string(HEADROOM_SOURCE_DIR) + "/" + path; }

/// The folder of real data for tests, beside the source tree or named by HEADROOM_TEST_DATA; "" when there is
/// none.
std::string outside_data();

}  // namespace headroom::test
