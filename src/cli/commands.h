// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace headroom {

// One function per command, each in a file of its name: adds the options, returns what to run.
Action add_hw(CLI::App& app);
Action add_models(CLI::App& app);
Action add_engines(CLI::App& app);
Action add_predict(CLI::App& app);
Action add_roofline(CLI::App& app);
Action add_limits(CLI::App& app);
Action add_plan(CLI::App& app);
Action add_simulate(CLI::App& app);
Action add_kv(CLI::App& app);
Action add_workloads(CLI::App& app);
Action add_compare(CLI::App& app);
Action add_map(CLI::App& app);
Action add_fit(CLI::App& app);
Action add_calibrate(CLI::App& app);
Action add_validate(CLI::App& app);

}  // namespace headroom
