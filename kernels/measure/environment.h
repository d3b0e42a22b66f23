// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"

#include <string>
#include <vector>

namespace headroom::kernels {

// What the driver's management library says of the device at one moment. Zeros where it does not say.
struct DeviceState {
    bool known = false;  // false: no management library; the rest is then meaningless
    unsigned multiprocessor_mhz = 0;
    unsigned memory_mhz = 0;
    unsigned busy_percent = 0;  // over the driver's last sampling period
    unsigned celsius = 0;
    double watts = 0;
    std::vector<std::string> limits;  // why the clock is below its maximum now, idleness aside
};

struct Environment {
    DeviceInfo device;
    std::string driver;  // e.g. "580.159.03"; empty if unknown
    std::string date;    // UTC, ISO 8601
    DeviceState before, after;
};

DeviceState read_device_state();

// The current device with the date and `before` filled in.
Environment read_environment();

// Why figures taken now would not be the device's own: another program's load, or a clock held down by heat
// or by the board. Empty: none. Call before the first kernel, which would itself be seen as load.
std::string reason_not_to_measure(const DeviceState& state);

}  // namespace headroom::kernels
