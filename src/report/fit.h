// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/measured.h"
#include "report/render.h"

namespace headroom {

Report report(const FitAnswer& answer);
Report report(const EngineFitAnswer& answer);

}  // namespace headroom
