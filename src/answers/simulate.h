// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "serving/simulator.h"

#include <functional>
#include <optional>
#include <string>

namespace headroom {

/// The prefill pool of `--disaggregate P:D`; the decode pool is what the question is about.
struct PrefillPool {
    Hardware hardware;
    Deployment deployment;
    int replicas = 1;
    int decode_replicas = 1;
    std::optional<Bandwidth> link;  ///< per GPU and direction; absent: the devices' own
};

struct SimulateQuestion {
    Question question;
    int replicas = 1;
    std::optional<PrefillPool> prefill;
    ServingPolicy policy;
    Playback playback;
    std::string rate;  ///< as given, for the echo
    std::optional<std::uint64_t> seed;
};

struct SimulateAnswer {
    SimulateQuestion asked;
    System system;
    SimulationResult result;
    /// The same GPUs without pools, where the decode device could do it all.
    std::optional<SimulationResult> together;
    int together_replicas = 0;
    std::int64_t gpus = 0;
    std::string fault;  ///< why nothing could be run: the weights do not fit, no link between the pools
};

/// `open` gives the requests from the start, each time it is called.
SimulateAnswer simulate(const SimulateQuestion& question, const std::function<RequestSource()>& open,
                        const Observers& observers = {});

}  // namespace headroom
