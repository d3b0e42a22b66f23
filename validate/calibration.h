// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"
#include "spec/hardware.h"
#include "validate/bundled/measured_run.h"

#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// A rate in base units (bytes or FLOP per second); `spread` is (p90 - p10)/median of its time.
struct MeasuredRate {
    double per_s = 0;
    double spread = 0;
};

struct MeasuredProduct {
    std::string type;                      ///< of the inputs: "bf16", "fp16", "fp8", "int8"
    MeasuredRate product;                  ///< 8192 x 8192 x 8192 by the vendor's library
    std::optional<double> mma_flop_per_s;  ///< mma.sync from registers
};

/// What one device was measured to reach. Memory rates are of cold data; a copy's counts both directions.
struct DeviceCeilings {
    std::string device;
    std::string date;        ///< UTC, YYYY-MM-DD
    std::string conditions;  ///< driver, clocks, temperature, in words
    MeasuredRate read, write, copy, l2_read, shared_read;
    Seconds launch_alone;        ///< the host launches an empty kernel and waits
    Seconds launch_in_stream;    ///< from one empty kernel to the next, launched by the host
    Seconds launch_in_graph;     ///< the same inside a graph
    Seconds dependent_in_graph;  ///< of kernels that read and write a word
    std::vector<MeasuredProduct> products;
    std::vector<MeasuredLaunch> launches;  ///< of the kernels in kernels/, the calibration shapes
};

/// The profile `text` (of `hardware`) with the measured values as its `ceilings:`, each with a source that
/// tells date, conditions and spread; so are the parameters of the kernels in kernels/, fitted to `launches`.
/// The datasheet's values and ceilings that were not measured stay. What the model has no parameter for
/// follows as comments. InputError when a rate beats the datasheet.
std::string calibrated_profile(const std::string& text, const Hardware& hardware,
                               const DeviceCeilings& measured);

}  // namespace headroom
