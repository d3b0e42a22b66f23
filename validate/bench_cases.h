// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/bench_result.h"
#include "validate/compare.h"

#include <string>
#include <vector>

namespace headroom {

/// Adds TTFT, TPOT, ITL and throughput (as the time of one token of the whole batch) of each run, and the
/// rates of llama-bench, beside their predictions. InputError that names every option that a file leaves
/// open.
void add_bench(ValidateAnswer& answer, const std::vector<BenchResult>& results, const std::string& file,
               const Profiles& profiles);

}  // namespace headroom
