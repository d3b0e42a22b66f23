// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/fit.h"
#include "validate/kernel_cases.h"

#include <string>
#include <vector>

namespace headroom {

/// What fitting one group of cases gave.
struct GroupFit {
    std::string group;
    std::vector<std::string> parameters;
    std::vector<double> values;      ///< base units
    std::vector<double> importance;  ///< mean error on unseen rows with this parameter put back to its start
    ErrorSummary train;
    ErrorSummary test;
};

struct CeilingsFit {
    Ceilings ceilings;
    std::vector<GroupFit> groups;
};

/// The parameters that the cases of `group` (as in `KernelCase::group`) determine.
std::vector<std::string> parameters_of(const std::string& group);

/// Predicted over measured - 1, of the cases where `take` is true (all where it is empty).
std::vector<double> errors_of(const std::vector<KernelCase>& cases, const std::vector<bool>& take,
                              const Ceilings& ceilings);

/// Reachable share of the memory bandwidth: the 95th percentile of bytes/time over products of at most 64
/// rows and decode attention that move more than 8 times L2; `otherwise` where there are fewer than 20 such
/// rows.
double memory_share(const std::vector<KernelCase>& cases, const Peaks& peaks, double otherwise);

/// Fits the groups one after the other, each on a random half of its rows (at most `most_rows` of them),
/// starting from `start`; the other half gives the test errors.
CeilingsFit fit_ceilings(const std::vector<KernelCase>& cases, const Ceilings& start, unsigned seed = 0,
                         int most_rows = 1500);

}  // namespace headroom
