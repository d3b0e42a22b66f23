// SPDX-License-Identifier: Apache-2.0
#include "cli/workload_input.h"

#include "io/catalogue.h"
#include "io/trace_reader.h"
#include "io/workload_yaml.h"
#include "spec/generate.h"

#include <CLI/CLI.hpp>

namespace headroom {

void add_workload_options(CLI::App& app, WorkloadInput& w) {
    app.add_option("--workload", w.name,
                   "name in workloads/, our YAML, or a trace file (its format is detected)");
    app.add_option("--trace-format", w.format, "how to read the trace, where the detection is wrong");
    app.add_option("--assume-output", w.assume_output, "output tokens of rows that name none");
}

std::optional<WorkloadSummary> load_workload(const WorkloadInput& w, const Output& output,
                                             OptionFaults& faults) {
    if (w.name.empty()) {
        faults.add("--workload", "is needed: a name in workloads/ or a trace file");
        return std::nullopt;
    }
    TraceOptions options;
    options.format = w.format;
    if (!w.assume_output.empty())
        options.assume_output = parse_one_count("--assume-output", w.assume_output, 1, 10000000, faults);
    try {
        const std::string path = find_entry(data_folder(output.data_dir), "workloads", w.name);
        if (path.size() > 5 && path.substr(path.size() - 5) == ".yaml") {
            return summarise(generate(read_workload(path, overrides_for(output, "workload"))));
        }
        TraceReader reader(path, options);
        const WorkloadSummary summary = summarise([&](Request& request) { return reader.next(request); });
        for (const std::string& note : reader.report().notes)
            std::fprintf(stderr, "note: %s\n", note.c_str());
        return summary;
    } catch (const InputError& e) {
        faults.add(e);
        return std::nullopt;
    }
}

}  // namespace headroom
