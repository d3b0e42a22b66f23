// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/compare.h"

#include <string>

namespace headroom {

/// Adds the cases of a JSON measurement; false when its format is none of those known here.
bool add_measured_json(ValidateAnswer& answer, const std::string& text, const std::string& file,
                       const Profiles& profiles);

}  // namespace headroom
