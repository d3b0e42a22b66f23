// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.h"
#include "base/version.h"
#include "cli/command.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace headroom {
namespace {

void print_help() {
    fmt::print(
        "headroom {}: how fast a language model is served, how many fit, what is wasted, what binds\n\n",
        kVersion);
    fmt::print("usage: headroom COMMAND [options]; headroom COMMAND --help explains them\n\n");
    for (const Command& command : commands()) fmt::print("  {:<10} {}\n", command.name, command.summary);
    fmt::print("\nexit codes: 0 yes, 1 the answer is no (does not fit, misses the objective), 2 bad input\n");
}

const Command& find_command(const std::string& name) {
    std::vector<std::string> names;
    for (const Command& command : commands()) {
        if (command.name == name) return command;
        names.emplace_back(command.name);
    }
    refuse("", "", "unknown command \"" + name + "\"", did_you_mean(name, names));
}

// CLI11 leaves what it does not know; each such option is a fault with the nearest known name.
void refuse_extras(const CLI::App& app) {
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    std::vector<Diagnostic> faults;
    for (const std::string& extra : app.remaining()) {
        Diagnostic fault;
        fault.where.file = extra.substr(0, extra.find('='));
        fault.message = extra.front() == '-' ? "unknown option" : "unexpected argument";
        if (extra.rfind("--", 0) == 0) fault.suggestion = did_you_mean(fault.where.file, known);
        if (extra.front() == '-' || faults.empty()) faults.push_back(std::move(fault));
    }
    if (!faults.empty()) throw InputError(std::move(faults));
}

int run(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
        print_help();
        return arguments.empty() ? 2 : 0;
    }
    if (arguments[0] == "--version") {
        fmt::print("headroom {}\n", kVersion);
        return 0;
    }
    const Command& command = find_command(arguments[0]);
    CLI::App app(std::string(command.summary), "headroom " + std::string(command.name));
    app.allow_extras();
    const Action action = command.add(app);
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend() - 1));
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", app.help());
        return 0;
    } catch (const CLI::ParseError& e) {
        refuse("headroom " + std::string(command.name), "", e.what());
    }
    refuse_extras(app);
    return action();
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
    try {
        return headroom::run(argc, argv);
    } catch (const headroom::InputError& e) {
        fmt::print(stderr, "{}\n", e.what());
    } catch (const std::exception& e) {
        fmt::print(stderr, "error: {}\n", e.what());
    }
    return 2;
}
