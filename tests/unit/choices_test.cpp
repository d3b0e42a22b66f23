// SPDX-License-Identifier: Apache-2.0
#include "io/trace_reader.h"
#include "memory/replay.h"
#include "program.h"
#include "spec/precision.h"

using namespace headroom;

namespace {

// Help wraps lines, so names are looked for one by one.
void expect_named(const std::string& command, const std::vector<std::string>& names) {
    const test::Outcome help = test::run_program(command + " --help");
    CHECK(help.exit_code == 0);
    for (const std::string& name : names) {
        INFO(command + " " + name);
        CHECK(help.text.find(name) != std::string::npos);
    }
}

}  // namespace

TEST_CASE("the help names every value that an option takes", "[questions]") {
    std::vector<std::string> policies;
    for (const auto& entry : kPolicies) policies.emplace_back(entry.second);
    expect_named("predict", storage_format_names());
    expect_named("map", storage_format_names());
    expect_named("validate", storage_format_names());
    expect_named("kv", policies);
    expect_named("limits", policies);
    expect_named("workloads", trace_format_names());
    for (const std::string& format : storage_format_names()) {
        INFO(format);
        CHECK(test::run_program("predict --model llama-3-8b --kv " + format).exit_code == 0);
    }
}
