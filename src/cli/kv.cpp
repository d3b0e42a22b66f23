// SPDX-License-Identifier: Apache-2.0
#include "answers/kv.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/policies.h"
#include "cli/workload_input.h"
#include "report/kv.h"
#include "spec/generate.h"

#include <algorithm>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <unistd.h>

namespace headroom {
namespace {

struct Options {
    Subject subject;
    WorkloadInput workload;
    std::string policies = "reserve,oracle,buddy,paged";
    std::string blocks = "16", max_length = "8192", max_sequences, region, requests;
    bool share_prefixes = false;
};

std::vector<Policy> wanted_policies(const Options& o, OptionFaults& faults) {
    std::vector<Policy> policies = parse_policies("--policy", o.policies, faults);
    if (o.policies.empty()) faults.add("--policy", "names none of " + policy_names());
    const bool shared = std::find(policies.begin(), policies.end(), Policy::paged_shared) != policies.end();
    if (o.share_prefixes && !shared) policies.push_back(Policy::paged_shared);
    return policies;
}

// A line that is written over, on a terminal only.
void show_progress(Policy policy, std::int64_t requests) {
    std::fprintf(stderr, "\r%s: %lld requests ", std::string(to_string(policy)).c_str(),
                 static_cast<long long>(requests));
}

}  // namespace

Action add_kv(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    add_subject_options(app, o->subject);
    add_workload_options(app, o->workload);
    app.add_option("--policy", o->policies, policy_names() + " (default " + o->policies + ")");
    app.add_option("--block", o->blocks,
                   "tokens of a block; a list or range is a sweep, e.g. 1:512:x2 (default 16)");
    app.add_option(
        "--max-len", o->max_length,
        "longest sequence, prompt and output: what is reserved, and where outputs are cut (default 8192)");
    app.add_flag("--share-prefixes", o->share_prefixes,
                 "also pages whose blocks are shared by equal prefixes");
    app.add_option("--max-sequences", o->max_sequences,
                   "sequences at once at most (default: the engine's limit)");
    app.add_option("--kv-tokens", o->region,
                   "size of the KV region in tokens (default: what the device has left)");
    app.add_option("--requests", o->requests, "requests to replay (default: all of the workload's)");
    return [o] {
        OptionFaults faults;
        KvRequest request;
        request.policies = wanted_policies(*o, faults);
        request.blocks = parse_counts("--block", o->blocks, 1, 1 << 20, faults);
        request.max_length = parse_one_count("--max-len", o->max_length, 1, 1 << 30, faults);
        const auto count = [&](const char* option, const std::string& text) {
            return text.empty() ? 0 : parse_one_count(option, text, 1, std::int64_t{1} << 40, faults);
        };
        request.max_sequences = count("--max-sequences", o->max_sequences);
        request.region_tokens = count("--kv-tokens", o->region);
        const std::int64_t most = count("--requests", o->requests);
        const auto traffic = open_workload(o->workload, o->subject.output, faults);
        Question question = load_question(o->subject, faults, true);
        question.echo.workload = o->workload.name;
        const auto notes = std::make_shared<TraceReport>();
        request.open = [&traffic, most, notes] { return first_requests(traffic->open(notes.get()), most); };
        const bool terminal = isatty(STDERR_FILENO) != 0;
        if (terminal) {
            request.progress = [](Policy policy, std::int64_t, std::int64_t n) { show_progress(policy, n); };
        }
        const KvAnswer answer = kv_waste(question, request);
        if (terminal) std::fprintf(stderr, "\r%40s\r", "");
        emit(report(answer, request, notes->notes), o->subject.output);
        return answer.rows.empty() ? 1 : 0;
    };
}

}  // namespace headroom
