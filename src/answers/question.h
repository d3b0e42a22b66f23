// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/shard.h"
#include "spec/engine.h"
#include "spec/hardware.h"

#include <string>
#include <vector>

namespace headroom {

/// What was asked, as given and with the defaults resolved: enough to ask again.
struct Echo {
    std::string model, hw, engine, workload;
    std::string weights, kv;  ///< formats as used
    std::vector<std::string> set;
    std::string speculate{};
};

/// What most questions are about: a model, spread over devices, under an engine.
struct Question {
    Echo echo;
    Model model;
    Hardware hardware;
    Engine engine;
    Deployment deployment;
};

/// The format that most linear weights are stored in.
StorageFormat linear_format(const Model& model);

/// Dense peak of the type that the linear layers compute in on this device.
Peak linear_peak(const Model& model, const Hardware& hardware);

/// "2 x h100-sxm, tp 2".
std::string deployment_name(const Question& question);

/// "80 GB nominal, 79.19 GiB as the driver reports it (measured)": which capacity was used.
std::string capacity_note(const Hardware& hardware);

}  // namespace headroom
