// SPDX-License-Identifier: Apache-2.0
// How fast the tool itself is, on one core: one row per question, the fastest of a few runs.
#include "answers/kv.h"
#include "answers/plan.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "io/engine_yaml.h"
#include "io/hardware_yaml.h"
#include "io/mapping_yaml.h"
#include "io/model_reader.h"
#include "io/traffic.h"
#include "mapping/search.h"
#include "memory/replay.h"
#include "ops/tensor.h"
#include "serving/simulator.h"
#include "spec/generate.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>

#include <fmt/format.h>

using namespace headroom;

namespace {

const std::string kData = HEADROOM_SOURCE_DIR;

Model model(const std::string& name) { return read_model(find_entry(kData, "models", name)).model; }
Hardware hardware(const std::string& name) {
    return read_hardware(find_entry(kData, "hwprofiles", name), kData);
}
Engine engine(const std::string& name) { return read_engine(find_entry(kData, "engines", name)); }

// Processor time, so that what else runs on the machine does not count.
double seconds(const std::function<void()>& work) {
    const std::clock_t begin = std::clock();
    work();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

double wall_seconds(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class Clock>
double fastest(int runs, Clock clock, const std::function<void()>& work) {
    double best = clock(work);
    for (int i = 1; i < runs; ++i) best = std::min(best, clock(work));
    return best;
}

void row(const std::string& what, double time, const std::string& rate = "") {
    fmt::print("| {} | {} | {} |\n", what, format(Seconds(time), 3), rate);
    std::fflush(stdout);
}

Workload chat(std::int64_t requests, double rate) {
    Workload w;
    w.arrivals = PoissonArrivals{rate * hertz};
    w.input = LogNormalLength{600, 4000};
    w.output = LogNormalLength{200, 1200};
    w.requests = requests;
    return w;
}

// A row as the Azure trace has it, about 35 bytes.
void traces() {
    const auto file = std::filesystem::temp_directory_path() / "headroom-bench.csv";
    {
        std::ofstream out(file);
        out << "TIMESTAMP,ContextTokens,GeneratedTokens\n";
        for (std::int64_t i = 0; i < 1'000'000; ++i) {
            out << fmt::format("2023-11-16 {:02}:{:02}:{:02}.{:07},{},{}\n", i / 100000, i / 1667 % 60,
                               i / 28 % 60, i * 7919 % 10'000'000, 100 + i * 31 % 4000, 1 + i * 17 % 900);
        }
    }
    const double bytes = static_cast<double>(std::filesystem::file_size(file));
    const Traffic traffic = find_traffic(file.string());
    std::int64_t count = 0;
    const double time = seconds([&] {
        Request r;
        for (const RequestSource next = traffic.open(); next(r);) ++count;
    });
    std::filesystem::remove(file);
    row(fmt::format("read a trace of {} rows, both passes", count), time,
        fmt::format("{:.0f} MB/s", bytes / time / 1e6));
}

void replays() {
    constexpr std::int64_t kRows = 10'000'000;
    for (const Policy policy : {Policy::paged, Policy::paged_shared}) {
        ReplayOptions options;
        options.policy = policy;
        options.region = 200'000;
        const double time = seconds([&] { replay(generate(chat(kRows, 100)), options); });
        row(fmt::format("kv: replay {} requests, {}", kRows, to_string(policy)), time,
            fmt::format("{:.2f} million requests/s", double(kRows) / time / 1e6));
    }
}

void simulations() {
    System one;
    one.pools.push_back(
        {PoolRole::both, shard(model("llama-3-8b"), {}), hardware("h100-sxm"), engine("vllm"), 1});
    constexpr std::int64_t kRequests = 1'000'000;
    SimulationResult r;
    const double time = seconds([&] { r = simulate(one, generate(chat(kRequests, 15)), {}); });
    row(fmt::format("simulate {} requests, llama-3-8b", kRequests), time,
        fmt::format("{:.0f} steps/ms", static_cast<double>(r.pools[0].steps) / time / 1e3));
    one.pools[0].shard = shard(model("llama-3-70b"), {.tp = 4});
    const Traffic azure = find_traffic(find_entry(kData, "workloads", "azure-conversation"));
    const double traced = fastest(3, seconds, [&] { r = simulate(one, azure.open(), {}); });
    row(fmt::format("simulate azure-conversation ({} requests), llama-3-70b tp 4", r.requests), traced);
}

// Four devices, four precisions, every sensible deployment, in three roles.
void plans() {
    PlanQuestion q;
    const Model plain = model("llama-3-70b");
    q.question.model = plain;
    q.question.engine = engine("vllm");
    for (const char* weights : {"bf16", "fp8", "int4"}) {
        for (const char* kv : {"bf16", "fp8"}) {
            Model m = with_weight_format(plain, *storage_format(weights), false);
            m.kv_format = storage_format(kv);
            q.variants.push_back({weights, kv, std::move(m), true});
        }
    }
    for (const char* device : {"h100-sxm", "h200", "a100-sxm-80gb", "l40s"})
        q.offers.push_back({hardware(device), std::nullopt});
    const Traffic azure = find_traffic(find_entry(kData, "workloads", "azure-conversation"));
    q.workload = summarise(azure);
    q.rates = {4.0 * q.workload.rate};
    q.objectives.ttft = 2 * second;
    q.objectives.itl = 100 * ms;
    q.pools = true;
    q.requests = [&] { return azure.open(); };
    PlanAnswer answer;
    const double time = seconds([&] { answer = plan(q); });
    const SearchCounts& c = answer.plan.counts;
    row(fmt::format("plan: {} candidates, {} pairs of pools, {} simulated", c.considered, c.pairs,
                    c.simulated),
        time, fmt::format("{:.2f} ms a candidate", 1e3 * time / static_cast<double>(c.considered)));
}

void searches() {
    const MappingDevice device = mapping_device(hardware("h100-sxm"));
    const std::vector<std::string> names = entry_names(kData, "mappings");
    double most = 0;
    std::string slowest;
    const double time = seconds([&] {
        for (const std::string& name : names) {
            const MappedComputation nest = read_mapping(find_entry(kData, "mappings", name), kData, {});
            const double here = seconds([&] { search(nest, device); });
            if (here > most) slowest = name;
            most = std::max(most, here);
        }
    });
    row(fmt::format("map --search over all {} mappings", names.size()), time,
        fmt::format("slowest {}, {}", slowest, format(Seconds(most), 3)));
}

void commands() {
    const std::string quiet =
        std::string(" >") + (std::filesystem::exists("/dev/null") ? "/dev/null" : "nul");
    for (const char* question :
         {"predict --model llama-3-8b --batch 1,16,64 --context 8192", "limits --model llama-3-70b --tp 4",
          "roofline --model deepseek-v3 --tp 8 --batch 64 --context 4096"}) {
        const std::string line = std::string(HEADROOM_PROGRAM) + " " + question + quiet;
        row(fmt::format("`headroom {}`, whole process", question), fastest(5, wall_seconds, [&] {
                if (std::system(line.c_str()) != 0) std::abort();
            }));
    }
}

}  // namespace

// Without arguments all; else those named.
int main(int count, char** arguments) {
    const std::vector<std::string> asked(arguments + 1, arguments + count);
    fmt::print("| what | time | rate |\n| --- | ---: | ---: |\n");
    using Named = std::pair<const char*, void (*)()>;
    for (const auto& [name, run] : {Named{"commands", commands},
                                    {"traces", traces},
                                    {"replays", replays},
                                    {"simulations", simulations},
                                    {"plans", plans},
                                    {"searches", searches}}) {
        if (asked.empty() || std::find(asked.begin(), asked.end(), name) != asked.end()) run();
    }
    return 0;
}
