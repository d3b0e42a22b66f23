// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace headroom::test {

/// A question from a public thread: a command, the number in its JSON answer, and the right one.
struct Answer {
    const char* source;  ///< the thread, and the question where it is not plain
    const char* command;
    const char* pointer;
    double answer;
    double tolerance = 1e-12;
};

void check(const std::vector<Answer>& answers);

/// "@NAME" in a command becomes a folder with the config of that name (questions.cpp).
std::string with_configs(const std::string& command);

/// A command's JSON answer; discarded where there is none.
nlohmann::json ask(const std::string& command);

/// The number at a pointer in that answer, -1 where there is none.
double number(const std::string& command, const char* pointer);

constexpr double kGiB = 1024.0 * 1024 * 1024, kMiB = 1024.0 * 1024;
constexpr const char* kPerToken = "/kv/bytes_per_token";
constexpr const char* kPerSequence = "/results/0/kv_bytes_per_sequence";

}  // namespace headroom::test
