// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/measure.h"
#include "measure/record.h"

#include <cstdio>
#include <string>
#include <vector>

namespace headroom::kernels {

// Every operator against its double-precision reference on fresh random inputs; prints one line each and
// returns the number that failed. `quick`: small sizes, fit for compute-sanitizer.
int verify_all(bool quick, std::uint64_t seed);

// Named lists of cases; throws DeviceError for an unknown name.
std::vector<Case> suite(const std::string& name);

// Times a suite, prints a table and appends what it measured. Returns the failures.
int time_suite(const std::string& name, DataPool& pool, std::vector<CaseResult>& results);

void print_ceilings(const Ceilings& ceilings);

}  // namespace headroom::kernels
