// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"
#include "memory/replay.h"

#include <string>
#include <vector>

namespace headroom {

/// The names of all policies, for help texts.
std::string policy_names();

/// "reserve,buddy,paged": allocation policies by name; "" gives none.
std::vector<Policy> parse_policies(const std::string& option, const std::string& text, OptionFaults& faults);

}  // namespace headroom
