// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include <cstdlib>
#include <exception>
#include <string>

// headroom_kernel_bench verify [quick]            every operator against its reference
// headroom_kernel_bench ceilings                  what the device can do
// headroom_kernel_bench time SUITE[,SUITE] [FILE] times, as a table and as JSON lines
namespace {

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

int run(const std::vector<std::string>& arguments) {
    using namespace headroom::kernels;
    const std::string command = arguments.empty() ? "" : arguments[0];
    if (command == "verify") {
        const bool quick = arguments.size() > 1 && arguments[1] == "quick";
        return verify_all(quick, 1000) == 0 ? 0 : 1;
    }
    if (command == "ceilings") {
        DataPool pool;
        print_ceilings(pool);
        return 0;
    }
    if (command == "time" && arguments.size() > 1) {
        DataPool pool;
        std::FILE* json = arguments.size() > 2 ? std::fopen(arguments[2].c_str(), "w") : nullptr;
        int failures = 0;
        for (const auto& name : split(arguments[1])) failures += time_cases(suite(name), pool, json);
        if (json != nullptr) std::fclose(json);
        return failures == 0 ? 0 : 1;
    }
    std::fprintf(stderr,
                 "usage: headroom_kernel_bench verify [quick] | ceilings | time SUITE[,SUITE] [FILE]\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
