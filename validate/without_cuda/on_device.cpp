// SPDX-License-Identifier: Apache-2.0
#include "validate/on_device.h"

#include "base/diagnostic.h"

namespace headroom {

std::string no_device() { return "this build has no CUDA, so it cannot run kernels"; }

std::string device_name() { refuse("", "", no_device()); }

DeviceCeilings measure_device(const Progress&) { refuse("", "", no_device()); }

ValidateAnswer validate_on_device(const Hardware&, const std::string&, const Progress&) {
    refuse("", "", no_device());
}

}  // namespace headroom
