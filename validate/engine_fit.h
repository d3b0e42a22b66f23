// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/measured.h"
#include "spec/engine.h"
#include "validate/serving_cases.h"

#include <functional>
#include <string>
#include <vector>

namespace headroom {

/// A run with what it ran on.
struct ServedCase {
    const ServingRun* run = nullptr;
    const Model* model = nullptr;
    const Hardware* hardware = nullptr;
    const Engine* engine = nullptr;  ///< its memory, scheduler and graphs; the host times are what is fitted
};

/// Fits the host times of an engine to TPOT, then the time of a request outside its steps to TTFT. Host times
/// that the runs say little of stay near those of `centre`.
Engine fit_engine_time(const std::vector<ServedCase>& cases, const Engine& start, const EngineTime& centre);

/// Where a host time is without any run.
EngineTime usual_time();

/// One set of host times for the runs of several engines: what engines have in common.
EngineTime pooled_time(const std::vector<ServedCase>& cases);

/// The fit on all runs of an engine, and the errors on what a fit without one model, or without one device,
/// says of it. Each is centred on the pooled times of the other engines' runs, without that model or device
/// too. The interval of each parameter is what those fits span.
EngineFitAnswer fit_engine(const std::string& engine, const std::vector<ServingRun>& runs,
                           const Profiles& profiles);

}  // namespace headroom
