// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/map_reader.h"
#include "spec/hardware.h"

#include <string>

namespace headroom {

/// Reads a device, and its generation from the folder `generations/` beside it or from the catalogue in
/// `data`. Refuses profiles that physics does not allow. Throws InputError with every fault.
Hardware read_hardware(const std::string& path, const std::string& data, const Overrides& overrides = {});

}  // namespace headroom
