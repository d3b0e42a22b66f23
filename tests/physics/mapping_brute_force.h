// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/nest.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace headroom::test {

struct Count {
    std::int64_t reads = 0;
    std::int64_t writes = 0;
    bool operator==(const Count&) const = default;
};

/// Counts of one kernel by (tensor, level crossed).
using Counts = std::map<std::pair<int, MemoryLevel>, Count>;

/// Runs every loop of a kernel, holds every tile as a set of words, and counts what moves. Knows nothing of
/// the closed forms. `wave` blocks run in step in front of an L2 of `l2_bytes`; the first wave must fit
/// there, or `l2_bytes` must be 0. `l2_bytes` < 0: no HBM counts.
Counts run_kernel(const MappedComputation& nest, std::size_t kernel, std::int64_t wave,
                  std::int64_t l2_bytes);

}  // namespace headroom::test
