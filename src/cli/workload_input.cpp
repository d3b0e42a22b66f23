// SPDX-License-Identifier: Apache-2.0
#include "cli/workload_input.h"

#include "cli/choices.h"
#include "io/catalogue.h"
#include "io/trace_reader.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace headroom {

void add_workload_options(CLI::App& app, WorkloadInput& w) {
    app.add_option("--workload", w.name,
                   "name in workloads/, our YAML, or a trace file (its format is detected)");
    add_trace_options(app, w);
}

void add_trace_options(CLI::App& app, WorkloadInput& w) {
    app.add_option("--trace-format", w.format,
                   "how to read the trace, where the detection is wrong: " + listed(trace_format_names()));
    app.add_option("--assume-output", w.assume_output, "output tokens of rows that name none");
    app.add_option(
        "--columns", w.columns,
        "columns of any other CSV or JSONL: arrival=A,input=B,output=C,unit=ms; also session, parent, "
        "hashes, delay; #1, #2... where there is no header");
    app.add_option("--prefix-block", w.prefix_block, "tokens that one prefix hash of the trace stands for");
}

namespace {

void parse_columns(const std::string& text, TraceOptions& options, OptionFaults& faults) {
    if (text.empty()) return;
    for (const std::string& part : split_list("--columns", text, faults)) {
        const std::size_t equals = part.find('=');
        if (equals == std::string::npos || equals + 1 == part.size()) {
            faults.add("--columns", fmt::format("\"{}\" is not ROLE=COLUMN", part));
            continue;
        }
        options.columns[part.substr(0, equals)] = part.substr(equals + 1);
    }
}

}  // namespace

std::optional<Traffic> open_workload(const WorkloadInput& w, const Output& output, OptionFaults& faults) {
    if (w.name.empty()) {
        faults.add("--workload", "is needed: a name in workloads/ or a trace file");
        return std::nullopt;
    }
    TraceOptions options;
    options.format = w.format;
    if (!w.assume_output.empty())
        options.assume_output = parse_one_count("--assume-output", w.assume_output, 1, 10000000, faults);
    if (!w.prefix_block.empty()) {
        options.prefix_block =
            static_cast<int>(parse_one_count("--prefix-block", w.prefix_block, 1, 1 << 20, faults));
    }
    parse_columns(w.columns, options, faults);
    try {
        return find_traffic(find_entry(data_folder(output.data_dir), "workloads", w.name), options,
                            overrides_for(output, "workload"));
    } catch (const InputError& e) {
        faults.add(e);
        return std::nullopt;
    }
}

std::optional<WorkloadSummary> load_workload(const WorkloadInput& w, const Output& output,
                                             OptionFaults& faults) {
    const auto traffic = open_workload(w, output, faults);
    if (!traffic) return std::nullopt;
    try {
        WorkloadSummary summary = summarise(*traffic);
        for (const std::string& note : summary.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
        return summary;
    } catch (const InputError& e) {
        faults.add(e);
        return std::nullopt;
    }
}

Frequency own_rate(const Traffic& traffic) {
    if (traffic.workload) return mean_rate(traffic.workload->arrivals);
    return summarise(traffic).rate;
}

void parse_rate(const std::string& option, const std::string& text, std::optional<Frequency>& rate,
                double& scale, OptionFaults& faults) {
    if (text.empty()) return;
    if (text.back() == 'x') {
        scale = parse_plain(option, text.substr(0, text.size() - 1), 1e-6, 1e9, faults);
        return;
    }
    const auto parsed = parse_quantity(text, Dimension{.second = -1});
    if (std::holds_alternative<ParseFault>(parsed)) {
        const bool number = std::holds_alternative<double>(parse_number(text));
        return faults.add(option, fmt::format("\"{}\" is neither requests per second nor a multiple", text),
                          number ? text + "/s\" or \"" + text + "x" : "8/s\" or \"2x");
    }
    rate = Frequency(std::get<double>(parsed));
    if (*rate <= Frequency{}) faults.add(option, "must be above zero");
}

}  // namespace headroom
