// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/render.h"
#include "spec/start_log.h"

namespace headroom {

/// The profile as text; as JSON also the figures with their lines.
Report report(const StartLog& log, const LearnedEngine& engine);

}  // namespace headroom
