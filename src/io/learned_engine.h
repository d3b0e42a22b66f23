// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/start_log.h"

#include <optional>
#include <string>

namespace headroom {

/// The engine profile at `base` with the memory part that `log` tells; scheduler and time stay as they are,
/// but for limits that the log names. `device_bytes` is what CUDA reports, for logs that do not say. What one
/// log cannot tell: how the activation peak depends on the model, so that the figure itself is written
/// (`activation_peak`). Throws InputError where the log leaves too much open.
LearnedEngine learn_engine(const StartLog& log, const std::string& base,
                           std::optional<double> device_bytes = std::nullopt);

}  // namespace headroom
