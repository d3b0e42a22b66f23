// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/simulate.h"
#include "report/render.h"

namespace headroom {

Report report(const SimulateAnswer& answer);

}  // namespace headroom
