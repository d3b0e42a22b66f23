// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check.h"
#include "io/catalogue.h"
#include "io/engine_yaml.h"
#include "io/hardware_yaml.h"
#include "io/model_reader.h"

#include <string>

namespace headroom::test {

inline Model model(const std::string& name) { return read_model(source("models/" + name + ".yaml")).model; }
inline Hardware hardware(const std::string& name) {
    return read_hardware(source("hwprofiles/" + name + ".yaml"), source(""));
}
inline Engine engine(const std::string& name) { return read_engine(source("engines/" + name + ".yaml")); }

}  // namespace headroom::test
