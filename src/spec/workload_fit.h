// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/request.h"
#include "spec/workload.h"
#include "spec/workload_summary.h"

#include <string>
#include <vector>

namespace headroom {

/// A description fitted to requests, and how near it comes.
struct WorkloadFit {
    Workload workload;
    WorkloadSummary observed;
    WorkloadSummary fitted;     ///< of the requests that the description generates
    double input_distance = 0;  ///< largest difference of the two distribution functions (Kolmogorov)
    double output_distance = 0;
    std::vector<std::string> choices;  ///< why each part is what it is
};

/// Fits arrivals (Poisson, gamma or a rate curve), lengths (log-normal where it is within 2 % everywhere,
/// else quantiles), a shared system prompt and conversations (from hashes) to requests. The source is read
/// once. `name` becomes the description's and its source's.
WorkloadFit fit(const RequestSource& source, const std::string& name, const SummaryOptions& options = {});

}  // namespace headroom
