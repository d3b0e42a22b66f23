// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/measured.h"

#include <string>

namespace headroom {

// Parts of the accuracy report and what their tables share.

inline constexpr const char* kErrorHead = "rows | mean | median | 95 % within | bias";
inline constexpr const char* kErrorRule = "---: | ---: | ---: | ---: | ---:";
std::string percent_of(double fraction);
std::string error_cells(const ErrorSummary& errors);

/// Memory at start-up: errors by engine, the rows that are shown and not counted, the rows that have no
/// profile, each with its reason.
std::string memory_part(const ValidateAnswer& answer);

/// Decoding of a single request and offline throughput.
std::string rates_part(const ValidateAnswer& answer);

}  // namespace headroom
