// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"
#include "io/traffic.h"
#include "spec/workload_summary.h"

#include <optional>
#include <string>

namespace headroom {

/// `--workload` and how to read it.
struct WorkloadInput {
    std::string name;
    std::string format;  ///< --trace-format
    std::string assume_output;
    std::string columns;
    std::string prefix_block;
};
void add_workload_options(CLI::App& app, WorkloadInput& input);
/// All but `--workload`, for commands that take the name in another way.
void add_trace_options(CLI::App& app, WorkloadInput& input);

/// The trace or description itself, to be read as often as needed. Nothing when a fault was added.
std::optional<Traffic> open_workload(const WorkloadInput& input, const Output& output, OptionFaults& faults);

/// Its statistics; what the reader notes goes to stderr. Nothing when a fault was added.
std::optional<WorkloadSummary> load_workload(const WorkloadInput& input, const Output& output,
                                             OptionFaults& faults);

/// Requests per second as it comes; a trace is read once for it.
Frequency own_rate(const Traffic& traffic);

/// "8/s" into `rate`, or "2x" of the workload's own rate into `scale`.
void parse_rate(const std::string& option, const std::string& text, std::optional<Frequency>& rate,
                double& scale, OptionFaults& faults);

}  // namespace headroom
