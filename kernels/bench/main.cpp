// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "common/error.h"

#include <algorithm>
#include <exception>
#include <string>

namespace headroom::kernels {

namespace {

constexpr const char* kUsage =
    "usage: headroom_kernel_bench verify [quick]             every operator against its reference\n"
    "       headroom_kernel_bench ceilings [FILE]            what the device can do\n"
    "       headroom_kernel_bench time SUITE[,SUITE] [FILE]  a table, and a measurement file\n"
    "       headroom_kernel_bench once SUITE INDEX           one launch of one case, for a profiler\n";

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (begin <= list.size()) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        parts.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

void write_file(const std::string& path, const Environment& environment, const Ceilings* ceilings,
                const std::vector<CaseResult>& results) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    HEADROOM_REQUIRE(file != nullptr, "cannot write " + path);
    write_measured(file, environment, ceilings, results);
    std::fclose(file);
}

int run_ceilings(const std::vector<std::string>& arguments) {
    DataPool pool;
    const auto ceilings = measure_ceilings(pool);
    print_ceilings(ceilings);
    if (arguments.size() > 1) write_file(arguments[1], ceilings.environment, &ceilings, {});
    return 0;
}

int run_time(const std::vector<std::string>& arguments) {
    auto environment = read_environment();
    DataPool pool;
    std::vector<CaseResult> results;
    int failures = 0;
    for (const auto& name : split(arguments[1])) failures += time_cases(suite(name), pool, results);
    environment.after = read_device_state();
    if (arguments.size() > 2) write_file(arguments[2], environment, nullptr, results);
    return failures == 0 ? 0 : 1;
}

int run_once(const std::vector<std::string>& arguments) {
    DataPool pool(std::size_t{12'000'000'000});
    const auto cases = suite(arguments[1]);
    const Case& c = cases.at(std::stoul(arguments[2]));
    const auto prepared = prepare(c, pool);
    const OwnedStream stream;
    prepared.launch(stream, 0);
    stream.synchronize();
    std::printf("%s: %.0f bytes counted\n", describe(c).c_str(), work_of(c).bytes);
    return 0;
}

int run(const std::vector<std::string>& arguments) {
    const std::string command = arguments.empty() ? "" : arguments[0];
    if (command == "verify") {
        const bool quick = arguments.size() > 1 && arguments[1] == "quick";
        return verify_all(quick, 1000) == 0 ? 0 : 1;
    }
    if (command == "ceilings") return run_ceilings(arguments);
    if (command == "time" && arguments.size() > 1) return run_time(arguments);
    if (command == "once" && arguments.size() > 2) return run_once(arguments);
    std::fputs(kUsage, stderr);
    return 2;
}

}  // namespace

}  // namespace headroom::kernels

int main(int argc, char** argv) {
    try {
        return headroom::kernels::run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
