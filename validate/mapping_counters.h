// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/measured.h"
#include "validate/bundled/measured_run.h"
#include "validate/compare.h"

#include <optional>
#include <string>

namespace headroom {

/// The mapping that a kernel in kernels/ is an instance of, and the sizes of one launch of it.
struct LaunchMapping {
    std::string name;
    Overrides set;
};

/// Nothing for kernels that no mapping describes, and for shapes that it cannot say: attention with fewer KV
/// heads than query heads in one pass, decodes of uneven lengths. A causal mask is not told: each key and
/// value is still read for some query.
std::optional<LaunchMapping> mapping_of(const kernels::Case& shape, const Hardware& hardware);

/// What the mapping predicts for `hardware`, beside what was counted; nothing where `mapping_of` gives
/// nothing. InputError when the mapping cannot have these sizes.
std::optional<TrafficCount> traffic_count(const CountedLaunch& launch, const std::string& file,
                                          const Hardware& hardware, const Profiles& profiles);

}  // namespace headroom
