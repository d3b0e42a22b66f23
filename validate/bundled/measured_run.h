// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/case.h"
#include "validate/kernel_cases.h"

#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// One element of `cases` of a file of schema headroom.measured/1.
struct MeasuredLaunch {
    kernels::Case shape;
    std::string suite;  ///< the list of shapes that it is from
    Seconds median;
    int place = 0;  ///< counted from 1
};

/// One element of `counters`: bytes that crossed the memory during one launch.
struct CountedLaunch {
    kernels::Case shape;
    Bytes read, written;
    bool drained =
        false;      ///< `written` includes what left L2 after the launch, pushed out by reads of other memory
    int place = 0;  ///< counted from 1
};

/// A recording of the kernels in kernels/ on one device.
struct MeasuredRun {
    std::string device;  ///< as its driver calls it
    std::string date;    ///< UTC
    std::vector<MeasuredLaunch> launches;
    std::vector<CountedLaunch> counters;
};

/// Nothing when `json` is of another schema; InputError, located, for a case that cannot be.
std::optional<MeasuredRun> measured_run(const std::string& json, const std::string& file);

/// What parameters a case is fitted with, and whose spread it has: "bundled decode", "bundled weights", ...
std::string bundled_group(kernels::CaseKind op);

/// Whether `bundled_time` models the operator; the others are there for their traffic.
bool has_predicted_time(kernels::CaseKind op);

/// The launch as a case of the fit, predicted for `hardware`.
KernelCase kernel_case(const MeasuredLaunch& launch, const Hardware& hardware);

/// What the fit trains on and what it is judged by. A launch of neither list is left out, and so is a
/// softmax: it has no parameter of its own.
std::vector<KernelCase> fitting_cases(const std::vector<MeasuredLaunch>& launches, const Hardware& hardware);

}  // namespace headroom
