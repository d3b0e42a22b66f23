// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/start_log.h"

#include <string>

namespace headroom {

/// Reads a vLLM start-up log, plain or compressed. The wordings of versions 0.2 to 0.19 are known; prefixes
/// (processes, time stamps, colours) do not matter. Throws InputError, with the line, for a text that is no
/// such log, that ends before the KV cache was made, or whose figures contradict each other.
StartLog read_start_log(const std::string& path);

}  // namespace headroom
