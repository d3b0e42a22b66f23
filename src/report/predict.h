// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/predict.h"
#include "report/render.h"

namespace headroom {

Report report(const PredictAnswer& answer);

}  // namespace headroom
