// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"
#include "validate/compare.h"

#include <string>
#include <vector>

namespace headroom {

/// Options of commands that read measurements.
struct MeasuredOptions {
    std::vector<std::string> paths;
    std::string configs;
    std::string hw, engine;
};
void add_measured_options(CLI::App& app, MeasuredOptions& options);

/// How measurements get at the profiles that they name. Models are looked for in models/, then among the
/// folders of `--configs` (owner--name, each with a config.json).
Profiles profiles_for(const MeasuredOptions& options, const Output& output);

}  // namespace headroom
