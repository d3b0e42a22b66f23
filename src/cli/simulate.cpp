// SPDX-License-Identifier: Apache-2.0
#include "answers/simulate.h"

#include "base/units.h"
#include "cli/choices.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/pool_options.h"
#include "cli/workload_input.h"
#include "report/simulate.h"
#include "serving/timeline.h"

#include <fstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headroom {
namespace {

struct Options {
    Subject subject;
    WorkloadInput workload;
    std::string rate, replicas, policy = "continuous", allocator = "paged", preemption = "recompute";
    std::string max_len, max_sequences, requests, concurrency, seed;
    PoolOptions pools;
    std::string timeline, requests_csv;
    bool no_prefix_cache = false;
};

const Choices<Batching> kBatching{{"continuous", Batching::continuous}, {"static", Batching::fixed}};
const Choices<Allocation> kAllocation{{"paged", Allocation::paged}, {"reserve", Allocation::reserve}};
const Choices<Preemption> kPreemption{{"recompute", Preemption::recompute}, {"swap", Preemption::swap}};

std::int64_t optional_count(const char* option, const std::string& text, OptionFaults& faults) {
    return text.empty() ? 0 : parse_one_count(option, text, 1, 1'000'000'000, faults);
}

ServingPolicy policy_of(const Options& o, OptionFaults& faults) {
    ServingPolicy p;
    p.batching = choose("--policy", o.policy, kBatching, faults);
    p.allocation = choose("--allocator", o.allocator, kAllocation, faults);
    p.preemption = choose("--preemption", o.preemption, kPreemption, faults);
    p.max_tokens = optional_count("--max-len", o.max_len, faults);
    p.max_sequences = optional_count("--max-sequences", o.max_sequences, faults);
    p.keep_prefixes = !o.no_prefix_cache;
    return p;
}

// The longest request, for reserved memory without a limit of its own: a power of two, as engines are set.
std::int64_t longest_request(const Traffic& traffic) {
    std::int64_t longest = 1;
    Request r;
    for (const RequestSource next = traffic.open(); next(r);)
        longest = std::max(longest, r.input_tokens + r.output_tokens);
    std::int64_t limit = 256;
    while (limit < longest) limit *= 2;
    return limit;
}

struct Files {
    std::ofstream timeline, requests;
};

constexpr std::int64_t kTimelineSteps = 200000;

Observers observers_of(const Options& o, Files& files, OptionFaults& faults) {
    Observers watch;
    const auto open = [&](const char* option, const std::string& path, std::ofstream& file) {
        file.open(path, std::ios::binary);
        if (!file) faults.add(option, "cannot write " + path);
    };
    if (!o.timeline.empty()) {
        open("--timeline", o.timeline, files.timeline);
        files.timeline << "[\n";
        const auto steps = std::make_shared<std::int64_t>(0);
        watch.step = [&files, steps](const StepRecord& step) {
            if (++*steps <= kTimelineSteps) files.timeline << timeline_event(step);
            if (*steps == kTimelineSteps + 1)
                fmt::print(stderr, "note: --timeline holds the first {} steps\n", kTimelineSteps);
        };
    }
    if (!o.requests_csv.empty()) {
        open("--requests-csv", o.requests_csv, files.requests);
        files.requests << requests_csv_header();
    }
    if (o.timeline.empty() && o.requests_csv.empty()) return watch;
    const auto told = std::make_shared<std::int64_t>(0);
    watch.request = [&files, told](const RequestRecord& r) {
        if (files.timeline.is_open() && ++*told <= kTimelineSteps) files.timeline << timeline_event(r);
        if (files.requests.is_open()) files.requests << requests_csv_row(r);
    };
    return watch;
}

void add_options(CLI::App& app, Options& o) {
    add_subject_options(app, o.subject);
    add_workload_options(app, o.workload);
    app.add_option("--rate", o.rate,
                   "requests per second (8/s), or a multiple of the workload's own (2x; default 1x)");
    app.add_option("--replicas", o.replicas,
                   "replicas of the deployment, requests to the least loaded (default 1)");
    app.add_option("--policy", o.policy, "batching: " + help_of(kBatching));
    app.add_option("--allocator", o.allocator,
                   "KV memory: " + help_of(kAllocation) + ": --max-len tokens for every sequence");
    app.add_option(
        "--max-len", o.max_len,
        "tokens that one sequence may have; longer ones are refused (default: no limit; with reserve the "
        "longest request, rounded up to a power of two)");
    app.add_option("--preemption", o.preemption, "when memory runs out: " + help_of(kPreemption));
    app.add_option("--max-sequences", o.max_sequences, "sequences that run at once (default: the engine's)");
    app.add_flag("--no-prefix-cache", o.no_prefix_cache,
                 "do not keep prompts for others that begin the same way");
    app.add_option("--requests", o.requests, "stop after so many requests (default: all)");
    app.add_option("--concurrency", o.concurrency,
                   "closed loop: so many requests at any time, arrivals are ignored");
    app.add_option("--seed", o.seed, "of a workload that is generated (default: its own)");
    add_pool_options(app, o.pools);
    app.add_option("--timeline", o.timeline,
                   "write steps and requests to this file, for Perfetto or chrome://tracing");
    app.add_option("--requests-csv", o.requests_csv, "write one row per request to this file");
}

int run(const Options& o) {
    OptionFaults faults;
    SimulateQuestion s;
    s.policy = policy_of(o, faults);
    if (!o.replicas.empty())
        s.replicas = static_cast<int>(parse_one_count("--replicas", o.replicas, 1, 4096, faults));
    s.playback.most = optional_count("--requests", o.requests, faults);
    s.playback.concurrency = optional_count("--concurrency", o.concurrency, faults);
    if (!o.seed.empty())
        s.seed = static_cast<std::uint64_t>(parse_one_count("--seed", o.seed, 0, INT64_MAX, faults));
    s.prefill = parse_pools(o.pools, o.subject, faults);
    if (s.playback.concurrency > 0 && !o.rate.empty())
        faults.add("--concurrency", "ignores arrivals; leave --rate out, or this");
    if (s.prefill && !o.replicas.empty())
        faults.add("--replicas", "--disaggregate P:D says how many there are; leave one of them out");
    s.rate = o.rate.empty() ? "1x" : o.rate;
    auto traffic = open_workload(o.workload, o.subject.output, faults);
    if (traffic && traffic->workload && s.seed) traffic->workload->seed = *s.seed;
    std::optional<Frequency> rate;
    parse_rate("--rate", o.rate, rate, s.playback.scale, faults);
    Files files;
    const Observers watch = observers_of(o, files, faults);
    s.question = load_question(o.subject, faults, true);
    s.question.echo.workload = o.workload.name;
    if (s.prefill) {
        for (const std::string& fault : deployment_faults(s.question.model, s.prefill->deployment))
            faults.add("--prefill-tp", fault);
        faults.finish();
    }
    if (rate) s.playback.scale = *rate / own_rate(*traffic);
    if (s.policy.allocation == Allocation::reserve && s.policy.max_tokens == 0)
        s.policy.max_tokens = longest_request(*traffic);
    TraceReport notes;
    const SimulateAnswer answer = simulate(
        s, [&] { return traffic->open(&notes); }, watch);
    for (const std::string& note : notes.notes) fmt::print(stderr, "note: {}\n", note);
    if (files.timeline.is_open()) files.timeline << "{}]\n";
    emit(report(answer), o.subject.output);
    const bool none = answer.result.refused > 0 && answer.result.completed == 0;
    return answer.fault.empty() && !answer.result.saturated && !none ? 0 : 1;
}

}  // namespace

Action add_simulate(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    add_options(app, *o);
    return [o] { return run(*o); };
}

}  // namespace headroom
