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
    std::string model, weights, kv;
    std::string tp, pp, ep, dp, concurrency;
};
void add_measured_options(CLI::App& app, MeasuredOptions& options);

/// What benchmark files leave out: model, formats, parallelism, load.
void add_benchmark_options(CLI::App& app, MeasuredOptions& options);

/// Every engine profile and the first version that it holds for.
std::vector<ProfileSince> engine_versions(const std::string& data);

/// How measurements get at the profiles that they name. Models are looked for in models/, then among the
/// folders of `--configs` (owner--name, each with a config.json).
Profiles profiles_for(const MeasuredOptions& options, const Output& output);

}  // namespace headroom
