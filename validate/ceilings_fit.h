// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/fit.h"
#include "validate/kernel_cases.h"

#include <string>
#include <vector>

namespace headroom {

struct CeilingsFit {
    Ceilings ceilings;
    std::vector<FittedGroup> groups;
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

/// Half-width of an interval: nine in ten of the cases lie within this factor of the model, either way.
double spread_of(const std::vector<KernelCase>& cases, const std::vector<bool>& take,
                 const Ceilings& ceilings);

/// The parameter that holds the spread of a group's operators.
std::string spread_parameter(const std::string& group);

/// Fits the groups one after the other, each on a random half of its rows (at most `most_rows` of them),
/// starting from `start`; the other half gives the test errors. A parameter that no row depends on keeps its
/// start.
CeilingsFit fit_ceilings(const std::vector<KernelCase>& cases, const Ceilings& start, unsigned seed = 0,
                         int most_rows = 1500);

/// A fit of one device on another: that one's peaks and the kernels that its software is known to choose, and
/// of the fit what carries over (`carried`). No time measured `there` is used.
Ceilings moved_to(const Ceilings& fitted, const Ceilings& there);

/// Whether some kernel was timed in both.
bool share_kernel(const std::vector<KernelCase>& a, const std::vector<KernelCase>& b);

/// Errors and spreads of another device's cases under a fit that is moved there; filled in by group. A
/// group that the other device does not have, or runs with another kernel, widens as its nearest kin does.
void cross(CeilingsFit& fit, const std::vector<KernelCase>& cases, const std::vector<KernelCase>& other,
           const Ceilings& there);

}  // namespace headroom
