// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/compare.h"
#include "report/render.h"

namespace headroom {

Report report(const CompareAnswer& answer);

}  // namespace headroom
