// SPDX-License-Identifier: Apache-2.0
#include "io/traffic.h"

#include "io/line_reader.h"
#include "io/workload_yaml.h"
#include "spec/generate.h"

#include <filesystem>

namespace headroom {
namespace {

bool is_description(const std::string& path) {
    const std::string suffix = std::filesystem::path(path).extension().string();
    if (suffix == ".yaml" || suffix == ".yml") return true;
    LineReader lines(path);
    std::string_view line;
    for (int n = 0; n < 10 && lines.next(line); ++n) {
        if (line.substr(0, 7) == "schema:") return true;
    }
    return false;
}

std::string stem(const std::string& path) {
    std::filesystem::path name = std::filesystem::path(path).filename();
    for (const char* packed : {".gz", ".zst"}) {
        if (name.extension() == packed) name = name.stem();
    }
    return name.stem().string();
}

}  // namespace

RequestSource Traffic::open(TraceReport* report) const {
    if (workload) return generate(*workload);
    auto reader = std::make_shared<TraceReader>(file, trace);
    return [reader, report](Request& request) {
        if (reader->next(request)) return true;
        if (report != nullptr) *report = reader->report();
        return false;
    };
}

Traffic find_traffic(const std::string& path, const TraceOptions& trace, const Overrides& overrides) {
    Traffic traffic;
    traffic.file = path;
    traffic.trace = trace;
    if (trace.format.empty() && trace.columns.empty() && is_description(path)) {
        traffic.workload = read_workload(path, overrides);
        traffic.name = traffic.workload->name;
        traffic.format = "headroom.workload/1";
        return traffic;
    }
    if (!overrides.empty()) refuse("--set", overrides.begin()->first, "a trace has no fields to set");
    traffic.name = stem(path);
    traffic.format = trace_format(path, trace);
    return traffic;
}

WorkloadSummary summarise(const Traffic& traffic, const SummaryOptions& options) {
    TraceReport report;
    WorkloadSummary summary = summarise(traffic.open(&report), options);
    summary.rows_skipped = report.rows_skipped;
    summary.notes.insert(summary.notes.begin(), report.notes.begin(), report.notes.end());
    return summary;
}

}  // namespace headroom
