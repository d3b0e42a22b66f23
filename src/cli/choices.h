// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"

#include <string>
#include <utility>
#include <vector>

namespace headroom {

/// The values that an option takes, by name. The help and the refusal of others are made from this one list;
/// the first is the default.
template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

/// "a, b, c".
std::string listed(const std::vector<std::string>& names);

/// Faults `text` with the names that there are.
void refuse_choice(const std::string& option, const std::string& text, const std::vector<std::string>& names,
                   OptionFaults& faults);

template <class T>
std::vector<std::string> names_of(const Choices<T>& choices) {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) names.push_back(name);
    return names;
}

/// "a (default), b, c".
template <class T>
std::string help_of(const Choices<T>& choices) {
    std::vector<std::string> names = names_of(choices);
    names.front() += " (default)";
    return listed(names);
}

/// The value of this name; a fault and the default when there is none.
template <class T>
T choose(const std::string& option, const std::string& text, const Choices<T>& choices,
         OptionFaults& faults) {
    for (const auto& [name, value] : choices) {
        if (name == text) return value;
    }
    refuse_choice(option, text, names_of(choices), faults);
    return choices.front().second;
}

/// `--phase`: whether it is the prefill that is asked about. The first is the command's default.
Choices<bool> phases(bool prefill_first);

/// "of weights: bf16, fp8 ...": every named storage format and what suffixes add, for help texts.
std::string format_help(const std::string& of);

}  // namespace headroom
