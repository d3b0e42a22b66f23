// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace headroom {

/// What a command does once its options are read; returns the exit code (0 yes, 1 the answer is no).
using Action = std::function<int()>;

/// A command: how to add its options to the parser, and what to run afterwards. The options live in the
/// action.
struct Command {
    std::string_view name;
    std::string_view summary;
    Action (*add)(CLI::App&);
};

/// Every command, in the order of `--help`.
std::span<const Command> commands();

}  // namespace headroom
