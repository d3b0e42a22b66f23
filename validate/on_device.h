// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/measured.h"
#include "spec/hardware.h"
#include "validate/calibration.h"

#include <functional>
#include <string>

// What needs a GPU, without a word of CUDA. A build without CUDA has these functions too: `no_device` says
// why there is nothing to call the others for, and they throw InputError with that.

namespace headroom {

/// Called before each step with what comes next and the share done so far (0..1).
using Progress = std::function<void(const std::string& step, double done)>;

/// Why nothing can be measured here: no CUDA in the build, or no GPU in the machine. "" when it can.
std::string no_device();

/// The current device as its driver prints it.
std::string device_name();

/// Measures what the device reaches, in under a minute. InputError when it is busy, or when its clock was
/// held down by heat or by the board, before or after.
DeviceCeilings measure_device(const Progress& progress);

/// Predicts each shape of the validation suite from `hardware`, then measures it. The measurements go to
/// `record` as `headroom.measured/1` unless it is "". InputError as for `measure_device`.
ValidateAnswer validate_on_device(const Hardware& hardware, const std::string& record,
                                  const Progress& progress);

}  // namespace headroom
