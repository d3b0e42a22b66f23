// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace headroom {

/// Tells on stderr what comes next and the share done (0..1): one line that is written over on a terminal,
/// a line per step elsewhere.
void show_progress(const std::string& step, double done);

/// Clears that line.
void end_progress();

}  // namespace headroom
