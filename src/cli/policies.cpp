// SPDX-License-Identifier: Apache-2.0
#include "cli/policies.h"

#include "cli/choices.h"

#include <algorithm>

namespace headroom {

namespace {

std::vector<std::string> names_of_policies() {
    std::vector<std::string> names;
    for (const auto& entry : kPolicies) names.emplace_back(entry.second);
    return names;
}

}  // namespace

std::string policy_names() { return listed(names_of_policies()); }

std::vector<Policy> parse_policies(const std::string& option, const std::string& text, OptionFaults& faults) {
    std::vector<Policy> policies;
    if (text.empty()) return policies;
    const std::vector<std::string> names = names_of_policies();
    for (const std::string& name : split_list(option, text, faults)) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) {
            refuse_choice(option, name, names, faults);
        } else {
            policies.push_back(kPolicies[static_cast<std::size_t>(found - names.begin())].first);
        }
    }
    return policies;
}

}  // namespace headroom
