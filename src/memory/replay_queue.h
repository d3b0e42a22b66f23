// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/request.h"

#include <cstdint>
#include <vector>

namespace headroom::detail {

// A request with the sequences that it runs as.
struct Running {
    Request request;
    std::int64_t output = 0;   // per sequence
    std::int64_t before = 0;   // of them, made before the last preemption
    std::int64_t start = 0;    // step of admission
    std::int64_t serial = -1;  // changes with every admission; -1: not running
    std::vector<int> slots;
    int older = -1, newer = -1;  // by admission
};

struct Waiting {
    Request request;
    std::int64_t output = 0;
    std::int64_t before = 0;
};

}  // namespace headroom::detail
