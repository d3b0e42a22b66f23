// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/case.h"
#include "validate/compare.h"

#include <string>

namespace headroom {

/// Adds the cases of a JSON measurement; false when its format is none of those known here.
bool add_measured_json(ValidateAnswer& answer, const std::string& text, const std::string& file,
                       const Profiles& profiles);

/// Between device and operator in the groups of the kernels in kernels/.
inline constexpr const char* kBundledMark = " bundled ";

/// One launch of a kernel in kernels/ with its name, group and prediction.
MeasuredCase predicted_case(const kernels::Case& shape, const Hardware& hardware);

/// InputError when the profile lacks what predicts the kernels in kernels/.
void require_bundled(const Hardware& hardware);

/// Fills in what was measured: the error, and the refusal of what is faster than the floor.
void set_measured(MeasuredCase& c, Seconds measured);

}  // namespace headroom
