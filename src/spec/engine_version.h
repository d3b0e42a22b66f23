// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace headroom {

/// The numbers of a version: "0.6.6.post1" is {0, 6, 6}; empty where the text does not start with a number.
std::vector<int> version_numbers(const std::string& text);

/// A profile and the first version that it holds for.
struct ProfileSince {
    std::string name;
    std::string since;
};

/// Of vLLM's profiles the newest that is not later than `version`, or "".
std::string profile_not_later(const std::string& version, const std::vector<ProfileSince>& profiles);

}  // namespace headroom
