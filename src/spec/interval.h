// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace headroom {

/// A figure that is not known exactly: low <= expected <= high, in base units.
struct Interval {
    double low = 0;
    double expected = 0;
    double high = 0;
    std::string source;
};

}  // namespace headroom
