// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check.h"

#include <array>
#include <cstdio>
#include <string>

#include <sys/wait.h>

namespace headroom::test {

struct Outcome {
    std::string text;
    int exit_code = 0;
};

/// The program with these arguments (a shell's), run from the root of the source tree: stdout and stderr
/// together, as a person sees them, or stdout alone.
inline Outcome run_program(const std::string& arguments, bool errors_too = true) {
    std::string command = "cd '" HEADROOM_SOURCE_DIR "' && NO_COLOR=1 '" HEADROOM_PROGRAM "' ";
    command += arguments;
    command += errors_too ? " 2>&1" : " 2>/dev/null";
    Outcome outcome;
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> chunk{};
    while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), pipe))
        outcome.text.append(chunk.data(), n);
    const int status = pclose(pipe);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
}

}  // namespace headroom::test
