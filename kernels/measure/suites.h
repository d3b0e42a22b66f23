// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/case.h"

#include <cstddef>
#include <vector>

namespace headroom::kernels {

// About 350 shapes for fitting: a grid, and draws as those of the other list; and more than 200 others, none
// of them among the first, for judging the fit. Both skip what a device of `memory_bytes` cannot hold, and
// are ordered by type, since the data are made anew for each. A pure function of their argument.
std::vector<Case> calibration_cases(std::size_t memory_bytes);
std::vector<Case> validation_cases(std::size_t memory_bytes);

}  // namespace headroom::kernels
