// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "ceilings/ceilings.h"
#include "common/error.h"

#include <algorithm>
#include <exception>
#include <random>
#include <string>

#include <cuda_profiler_api.h>

namespace headroom::kernels {

namespace {

constexpr int kNoDevice = 4;  // what ctest takes for "skipped"

constexpr const char* kUsage =
    "usage: headroom_kernel_bench verify [quick] [SEED]      every operator against its reference\n"
    "       headroom_kernel_bench ceilings [FILE]            what the device can do\n"
    "       headroom_kernel_bench time SUITE[,SUITE] [FILE]  a table, and a measurement file\n"
    "       headroom_kernel_bench record FILE                ceilings and all suites, into one file\n"
    "       headroom_kernel_bench once SUITE INDEX           one launch of one case, for a profiler,\n"
    "                                                       between two reads of other memory\n";

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
    for (const auto& name : split(arguments[1])) failures += time_suite(name, pool, results);
    environment.after = read_device_state();
    if (arguments.size() > 2) write_file(arguments[2], environment, nullptr, results);
    return failures == 0 ? 0 : 1;
}

int run_record(const std::string& path) {
    DataPool pool;
    auto ceilings = measure_ceilings(pool);
    print_ceilings(ceilings);
    std::vector<CaseResult> results;
    int failures = 0;
    for (const char* name :
         {"calibration", "validation", "paged", "contiguous", "wide", "flash", "standard", "weights"}) {
        failures += time_suite(name, pool, results);
    }
    ceilings.environment.after = read_device_state();
    write_file(path, ceilings.environment, &ceilings, results);
    return failures == 0 ? 0 : 1;
}

// Fresh inputs each time unless a seed is given; the seed is printed, so that a failure can be had again.
int run_verify(const std::vector<std::string>& arguments) {
    const bool quick = arguments.size() > 1 && arguments[1] == "quick";
    const std::size_t at = quick ? 2 : 1;
    const std::uint64_t seed = arguments.size() > at ? std::stoull(arguments[at]) : std::random_device()();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    return verify_all(quick, seed) == 0 ? 0 : 1;
}

int run_once(const std::vector<std::string>& arguments) {
    DataPool pool(std::size_t{12'000'000'000});
    const auto cases = suite(arguments[1]);
    const Case& c = cases.at(std::stoul(arguments[2]));
    const auto prepared = prepare(c, pool);
    // Reading other memory pushes out of L2 what was written: before the case, so that it starts cold and
    // pays for no other's lines; after it, so that the last of its own can be counted. One pass over several
    // times what L2 holds leaves a sixth of the written lines there.
    const DeviceBuffer other(32 * device_info().l2_bytes / 1024 * 1024), sink(16);
    const OwnedStream stream;
    const auto drain = [&] {
        read_memory(ReadMethod::kLoads, other.data(), other.bytes(), sink.as<unsigned>(), stream);
        stream.synchronize();
    };
    for (int pass = 0; pass < 16; ++pass) drain();
    HEADROOM_CUDA(cudaProfilerStart());
    prepared.launch(stream, 0);
    stream.synchronize();
    drain();
    HEADROOM_CUDA(cudaProfilerStop());
    std::printf("\"case\": \"%s\", %s, \"counted_bytes\": %.0f\n", describe(c).c_str(), shape_json(c).c_str(),
                work_of(c).bytes);
    return 0;
}

int run(const std::vector<std::string>& arguments) {
    const std::string command = arguments.empty() ? "" : arguments[0];
    if (!device_available()) {
        std::fputs("no CUDA device: nothing can be run or measured here\n", stderr);
        return kNoDevice;
    }
    if (command == "verify") return run_verify(arguments);
    if (command == "record" && arguments.size() > 1) return run_record(arguments[1]);
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
