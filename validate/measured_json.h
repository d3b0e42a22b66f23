// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/compare.h"

#include <optional>
#include <string>

namespace headroom {

/// Adds the cases of a JSON measurement; false when its format is none of those known here.
bool add_measured_json(ValidateAnswer& answer, const std::string& text, const std::string& file,
                       const Profiles& profiles);

/// One element of `cases` (an object of JSON; times may be missing) with its name, group and prediction;
/// nothing where it is no operator of a step, so that nothing predicts it.
std::optional<MeasuredCase> predicted_case(const std::string& row, const Hardware& hardware);

/// Fills in what was measured: the error, and the refusal of what is faster than the floor.
void set_measured(MeasuredCase& c, Seconds measured);

}  // namespace headroom
