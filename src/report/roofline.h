// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/roofline.h"
#include "report/render.h"

namespace headroom {

Report report(const RooflineAnswer& answer);

}  // namespace headroom
