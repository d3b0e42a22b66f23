// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/render.h"
#include "spec/workload.h"
#include "spec/workload_fit.h"
#include "spec/workload_summary.h"

#include <string>
#include <vector>

namespace headroom {

/// One entry of `workloads list` or `show`.
struct WorkloadEntry {
    std::string name;
    std::string title;   ///< "" for a trace
    std::string format;  ///< what it was read as
    std::vector<Source> sources;
    WorkloadSummary summary;
    /// The rate that a description gives; what is drawn from it differs. 0 for a trace.
    Frequency described;
};

Report report_list(const std::vector<WorkloadEntry>& entries);
Report report(const WorkloadEntry& entry);
/// `yaml` is the fitted description as a file.
Report report(const WorkloadFit& fit, const std::string& yaml);

}  // namespace headroom
