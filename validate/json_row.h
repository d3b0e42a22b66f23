// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>

#include <nlohmann/json.hpp>

namespace headroom {

/// The number at the first of these keys that holds one: programs rename them between versions.
inline double number_of(const nlohmann::json& row, std::initializer_list<const char*> keys,
                        double otherwise = 0) {
    for (const char* key : keys) {
        const auto at = row.find(key);
        if (at != row.end() && at->is_number()) return at->get<double>();
    }
    return otherwise;
}

/// The text at the first of these keys that holds one, or "".
inline std::string text_of(const nlohmann::json& row, std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
        const auto at = row.find(key);
        if (at != row.end() && at->is_string()) return at->get<std::string>();
    }
    return "";
}

/// The number as a count; one that is below zero or over a thousand million is as good as none.
inline int count_of(const nlohmann::json& row, std::initializer_list<const char*> keys, int otherwise = 0) {
    const double value = number_of(row, keys, otherwise);
    return value >= 0 && value <= 1e9 ? static_cast<int>(value) : otherwise;
}

}  // namespace headroom
