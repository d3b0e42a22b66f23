// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"
#include "spec/workload_summary.h"

#include <optional>
#include <string>

namespace headroom {

/// `--workload` and how to read it.
struct WorkloadInput {
    std::string name;
    std::string format;  ///< --trace-format
    std::string assume_output;
};
void add_workload_options(CLI::App& app, WorkloadInput& input);

/// Statistics of a trace or of a description in workloads/. Nothing when a fault was added.
std::optional<WorkloadSummary> load_workload(const WorkloadInput& input, const Output& output,
                                             OptionFaults& faults);

}  // namespace headroom
