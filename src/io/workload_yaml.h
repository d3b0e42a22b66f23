// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/map_reader.h"
#include "spec/workload.h"

#include <string>
#include <string_view>

namespace headroom {

/// Reads a traffic description (`schema: headroom.workload/1`). InputError with every fault.
Workload read_workload(const std::string& path, const Overrides& overrides = {});

/// The same from text; `origin` is what faults call it.
Workload parse_workload(std::string_view text, const std::string& origin, const Overrides& overrides = {});

/// The description as a file that `read_workload` reads back.
std::string to_yaml(const Workload& workload);

}  // namespace headroom
