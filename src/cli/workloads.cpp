// SPDX-License-Identifier: Apache-2.0
#include "report/workloads.h"

#include "cli/catalogue.h"
#include "cli/commands.h"
#include "cli/workload_input.h"
#include "io/workload_yaml.h"

#include <CLI/CLI.hpp>

namespace headroom {
namespace {

struct Options {
    CatalogueOptions catalogue;
    WorkloadInput input;
    std::string gap = "50ms", cache = "1k,10k,30k";
};

// Enough for the means of a list.
constexpr std::int64_t kListed = 4000;

SummaryOptions summary_options(const Options& o, OptionFaults& faults) {
    SummaryOptions s;
    s.token_gap = parse_option<Dimension{.second = 1}>("--itl", o.gap, faults);
    s.cache_blocks = parse_counts("--cache-blocks", o.cache, 1, std::int64_t{1} << 40, faults);
    return s;
}

WorkloadEntry entry(const Traffic& traffic, const SummaryOptions& options) {
    WorkloadEntry e;
    e.name = traffic.name;
    e.format = traffic.format;
    if (traffic.workload) {
        e.title = traffic.workload->title;
        e.sources = traffic.workload->sources;
        e.described = own_rate(traffic);
    }
    e.summary = summarise(traffic, options);
    return e;
}

int check(const std::string& name, const WorkloadEntry& e) {
    for (const std::string& note : e.summary.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    const bool ok = e.summary.rows_skipped == 0;
    std::printf("%s: %s, %s, %lld requests%s\n", name.c_str(), ok ? "ok" : "has faulty rows",
                e.format.c_str(), static_cast<long long>(e.summary.requests),
                ok ? "" : (", " + std::to_string(e.summary.rows_skipped) + " rows skipped").c_str());
    return ok ? 0 : 1;
}

int fit_one(const Options& o, const Traffic& traffic, const SummaryOptions& options) {
    TraceReport notes;
    const WorkloadFit f = fit(traffic.open(&notes), traffic.name, options);
    for (const std::string& note : notes.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    for (const std::string& choice : f.choices) std::fprintf(stderr, "%s\n", choice.c_str());
    const auto compare = [](const char* what, double observed, double fitted) {
        std::fprintf(stderr, "%s: trace %.4g, fitted %.4g\n", what, observed, fitted);
    };
    compare("requests/s", f.observed.rate.base(), f.fitted.rate.base());
    compare("mean input", f.observed.input_tokens.mean, f.fitted.input_tokens.mean);
    compare("mean output", f.observed.output_tokens.mean, f.fitted.output_tokens.mean);
    compare("live tokens", f.observed.live_tokens, f.fitted.live_tokens);
    if (f.observed.prefix && f.fitted.prefix) {
        compare("tokens hit", f.observed.prefix->unlimited.token_rate, f.fitted.prefix->unlimited.token_rate);
    }
    emit(report(f, to_yaml(f.workload)), o.catalogue.output);
    return 0;
}

int list(const Options& o, SummaryOptions options) {
    const std::string data = data_folder(o.catalogue.output.data_dir);
    options.max_requests = kListed;
    std::vector<WorkloadEntry> entries;
    OptionFaults faults;
    for (const std::string& name : entry_names(data, "workloads")) {
        try {
            const Traffic traffic = find_traffic(find_entry(data, "workloads", name));
            entries.push_back(entry(traffic, options));
        } catch (const InputError& e) {
            faults.add(e);
        }
    }
    faults.finish();
    emit(report_list(entries), o.catalogue.output);
    return 0;
}

}  // namespace

Action add_workloads(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    add_catalogue_options(app, o->catalogue, "list, show NAME, check PATH or fit TRACE (default list)");
    add_trace_options(app, o->input);
    app.add_option("--itl", o->gap, "time per output token that live tokens assume (default 50ms)");
    app.add_option("--cache-blocks", o->cache, "prefix cache sizes to count hits at (default 1k,10k,30k)");
    return [o] {
        check_verb(o->catalogue, {"list", "show", "check", "fit"});
        OptionFaults faults;
        const SummaryOptions options = summary_options(*o, faults);
        if (o->catalogue.verb == "list") {
            faults.finish();
            return list(*o, options);
        }
        int code = 0;
        for (const std::string& name : o->catalogue.names) {
            o->input.name = name;
            const auto traffic = open_workload(o->input, o->catalogue.output, faults);
            faults.finish();
            if (o->catalogue.verb == "fit") {
                code = std::max(code, fit_one(*o, *traffic, options));
                continue;
            }
            const WorkloadEntry e = entry(*traffic, options);
            if (o->catalogue.verb == "check")
                code = std::max(code, check(name, e));
            else
                emit(report(e), o->catalogue.output);
        }
        return code;
    };
}

}  // namespace headroom
