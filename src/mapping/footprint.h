// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/plan.h"

namespace headroom {

/// Bytes that one block of a kernel holds at a level. Nests in sequence use the same room one after the
/// other; the register tiles of all warps count.
std::int64_t footprint_bytes(const NestPlan& plan, const MappedComputation& nest, std::size_t kernel,
                             MemoryLevel level);

/// Warps of a block: the most that the loops around one statement make.
std::int64_t most_warps(const NestPlan& plan, const MappedComputation& nest, std::size_t kernel);

/// The whole of a tensor, by its declared index.
std::int64_t tensor_bytes(const Computation& computation, std::size_t tensor);

}  // namespace headroom
