// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "ops/batch.h"

#include <string>

namespace headroom {

/// Why a KV cache in fewer bits gains less than its bytes: attention kernels that read it take longer per
/// token than those at 16 bits, or as long. One sentence with both ratios; "" where the cache is at 16 bits,
/// where time falls as bytes do (within 10 %), and where attention is less than a tenth of the step.
std::string slower_kernels(const Question& question, const Shard& shard, const Batch& decode);

}  // namespace headroom
