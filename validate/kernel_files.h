// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/kernel_cases.h"

#include <string>
#include <vector>

namespace headroom {

/// Files below `paths` that end in one of `endings`, sorted; a file that is named itself counts whatever its
/// ending. InputError where a path does not exist.
std::vector<std::string> files_below(const std::vector<std::string>& paths,
                                     const std::vector<std::string>& endings);

struct KernelTables {
    std::string device;  ///< the column's text; "" when there were no rows
    std::vector<KernelCase> cases;
    std::vector<std::string> refused;  ///< rows faster than the floor, "file:line name", and not in `cases`
};

/// The kernel tables and recordings in a folder (or one file) of this device. InputError when none is there.
KernelTables read_kernel_tables(const std::string& path, const Hardware& hardware);

}  // namespace headroom
