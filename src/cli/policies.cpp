// SPDX-License-Identifier: Apache-2.0
#include "cli/policies.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {

std::vector<Policy> parse_policies(const std::string& option, const std::string& text, OptionFaults& faults) {
    std::vector<Policy> policies;
    if (text.empty()) return policies;
    std::vector<std::string> names;
    for (const auto& entry : kPolicies) names.emplace_back(entry.second);
    for (const std::string& name : split_list(option, text, faults)) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) {
            faults.add(option, fmt::format("\"{}\" is no policy", name), did_you_mean(name, names));
        } else {
            policies.push_back(kPolicies[static_cast<std::size_t>(found - names.begin())].first);
        }
    }
    return policies;
}

}  // namespace headroom
