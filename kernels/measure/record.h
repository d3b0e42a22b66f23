// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/measure.h"

#include <cstdio>
#include <string>
#include <vector>

namespace headroom::kernels {

// The members of a case's JSON object that tell its operator and shape, without braces.
std::string shape_json(const Case& c);

// One run in the format `headroom.measured/1` (validate/measured/README.md). `ceilings` may be null.
void write_measured(std::FILE* file, const Environment& environment, const Ceilings* ceilings,
                    const std::vector<CaseResult>& results);

}  // namespace headroom::kernels
