// SPDX-License-Identifier: Apache-2.0
#include "spec/engine_version.h"

#include <cctype>

namespace headroom {

std::vector<int> version_numbers(const std::string& text) {
    std::vector<int> numbers;
    std::size_t at = 0;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0) {
        int value = 0;
        for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0; ++at) {
            if (value < 100000) value = 10 * value + (text[at] - '0');
        }
        numbers.push_back(value);
        if (at >= text.size() || text[at] != '.') break;
        ++at;
    }
    return numbers;
}

std::string profile_not_later(const std::string& version, const std::vector<ProfileSince>& profiles) {
    const std::vector<int> wanted = version_numbers(version);
    std::string found;
    std::vector<int> newest;
    for (const ProfileSince& p : profiles) {
        if (!p.name.starts_with("vllm-")) continue;
        const std::vector<int> has = version_numbers(p.since);
        if (has.empty() || wanted < has || has < newest) continue;
        found = p.name;
        newest = has;
    }
    return found;
}

}  // namespace headroom
