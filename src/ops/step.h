// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/shard.h"
#include "ops/work.h"

#include <vector>

namespace headroom {

/// The operators that one GPU of a stage runs for `batch` (the batch of its data-parallel rank), in order,
/// layers of a kind together with their count. Includes embedding and head where the stage has them, and the
/// collectives.
std::vector<Operator> step_operators(const Shard& shard, std::size_t stage, const Batch& batch);

/// All stages, one after the other, as one token passes through them.
std::vector<Operator> step_operators(const Shard& shard, const Batch& batch);

}  // namespace headroom
