// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/map_reader.h"
#include "spec/engine.h"

#include <string>

namespace headroom {

/// Reads a serving stack's profile. Throws InputError with every fault.
Engine read_engine(const std::string& path, const Overrides& overrides = {});

}  // namespace headroom
