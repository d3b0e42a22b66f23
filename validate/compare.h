// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/measured.h"
#include "io/mapping_yaml.h"
#include "spec/deployment.h"
#include "spec/engine.h"
#include "spec/engine_version.h"
#include "spec/hardware.h"
#include "spec/model.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// How measurements get at the profiles of what they name. Each throws InputError for an unknown name.
struct Profiles {
    std::function<Hardware(const std::string&)> hardware;
    std::function<Model(const std::string&)> model;
    std::function<Engine(const std::string&)> engine;
    std::function<std::vector<ProfileSince>()> engine_versions{};  ///< of the catalogue
    /// With dimensions and tile factors set; for measurements that hold counters.
    std::function<MappedComputation(const std::string&, const Overrides&)> mapping{};
    std::string forced_hardware;  ///< instead of what a file names; "" where it is to be believed
    std::string forced_engine;
    std::string forced_model;
    std::string weights, kv;               ///< formats beyond the config's, for files that name none
    std::optional<Deployment> deployment;  ///< for files that name none
    double concurrency = 0;                ///< requests in flight, for files that do not say

    /// The device or engine to predict with: the one that was forced, else the one that a file tells.
    std::string hardware_or(const std::string& told) const {
        return forced_hardware.empty() ? told : forced_hardware;
    }
    std::string engine_or(const std::string& told) const {
        return forced_engine.empty() ? told : forced_engine;
    }
};

/// Reads measurements (files, or folders searched for them), predicts each and compares. Formats are told by
/// their content; a file of none is an InputError when it was named itself, and a note when it lay in a
/// folder.
ValidateAnswer compare(const std::vector<std::string>& paths, const Profiles& profiles);

/// The profile of a device by the name that its driver prints; InputError naming `file` when it is unknown.
std::string device_profile(const std::string& device, const std::string& file);

/// Adds the summaries by group and over all.
void summarise(ValidateAnswer& answer);

}  // namespace headroom
