// SPDX-License-Identifier: Apache-2.0
#include "report/fit.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "validate/fit_tables.h"

#include <fstream>

#include <CLI/CLI.hpp>

namespace headroom {

Action add_fit(CLI::App& app) {
    struct Options {
        Output output;
        std::string tables, hw, other, other_hw, profile;
    };
    const auto o = std::make_shared<Options>();
    app.add_option("tables", o->tables, "folder of kernel tables (CSV) of one device")->required();
    app.add_option("--hw", o->hw, "the device that they were measured on: name in hwprofiles/ or a path")
        ->required();
    app.add_option("--other", o->other,
                   "kernel tables of another device: how far the fit is off where nothing was measured");
    app.add_option("--other-hw", o->other_hw, "that device");
    app.add_option("--profile", o->profile,
                   "write the `ceilings:` part of the device's profile and the `kernels:` part of its "
                   "generation's to this file");
    add_output_options(app, o->output);
    return [o] {
        OtherTables other;
        if (o->other.empty() != o->other_hw.empty())
            refuse("--other", "", "needs --other-hw, and the reverse");
        if (!o->other.empty()) other = {o->other, load_hardware(o->output, o->other_hw)};
        const FitAnswer answer = fit_tables(o->tables, load_hardware(o->output, o->hw), other);
        if (!o->profile.empty()) {
            std::ofstream file(o->profile);
            file << answer.yaml;
            if (!file) refuse(o->profile, "", "cannot be written");
        }
        emit(report(answer), o->output);
        return 0;
    };
}

}  // namespace headroom
