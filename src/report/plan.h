// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/plan.h"
#include "report/render.h"

namespace headroom {

Report report(const PlanAnswer& answer);

}  // namespace headroom
