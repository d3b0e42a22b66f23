// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/limits.h"
#include "report/render.h"

namespace headroom {

Report report(const LimitsAnswer& answer);

}  // namespace headroom
