// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/case.h"
#include "measure/runner.h"

#include <cstdio>
#include <string>
#include <vector>

namespace headroom::kernels {

// Every operator against its double-precision reference on fresh random inputs; prints one line each and
// returns the number that failed. `quick`: small sizes, fit for compute-sanitizer.
int verify_all(bool quick, std::uint64_t seed);

// Named lists of cases; throws DeviceError for an unknown name.
std::vector<Case> suite(const std::string& name);

// Times the cases, prints a table and, if `json` is given, writes one object per case. Returns the failures.
int time_cases(const std::vector<Case>& cases, DataPool& pool, std::FILE* json);

// The ceilings, printed.
void print_ceilings(DataPool& pool);

}  // namespace headroom::kernels
