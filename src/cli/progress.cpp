// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

namespace headroom {
namespace {

bool on_terminal() { return isatty(fileno(stderr)) != 0; }

}  // namespace

void show_progress(const std::string& step, double done) {
    fmt::print(stderr, "{}{:3.0f} %  {:<70.70}{}", on_terminal() ? "\r" : "", 100 * done, step,
               on_terminal() ? "" : "\n");
    std::fflush(stderr);
}

void end_progress() {
    if (on_terminal()) fmt::print(stderr, "\r{:<78}\r", "");
}

}  // namespace headroom
