// SPDX-License-Identifier: Apache-2.0
#include "cli/choices.h"

#include "spec/precision.h"

#include <fmt/format.h>

namespace headroom {

std::string listed(const std::vector<std::string>& names) {
    return fmt::format("{}", fmt::join(names, ", "));
}

void refuse_choice(const std::string& option, const std::string& text, const std::vector<std::string>& names,
                   OptionFaults& faults) {
    faults.add(option, fmt::format("\"{}\" is none of {}", text, listed(names)), did_you_mean(text, names));
}

Choices<bool> phases(bool prefill_first) {
    if (prefill_first) return {{"prefill", true}, {"decode", false}};
    return {{"decode", false}, {"prefill", true}};
}

std::string format_help(const std::string& of) {
    return fmt::format("format of {}: {}; with suffixes such as int4-g32, a scale per 32 elements", of,
                       fmt::join(storage_format_names(), " "));
}

}  // namespace headroom
