// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/measured.h"
#include "spec/hardware.h"

#include <string>

namespace headroom {

/// Kernel tables of another device, for what a fit is worth where nothing was measured.
struct OtherTables {
    std::string path;
    Hardware hardware;
};

/// Fits a device's ceilings to the kernel tables at `path`. `other.path` may be empty.
FitAnswer fit_tables(const std::string& path, const Hardware& hardware, const OtherTables& other = {});

}  // namespace headroom
