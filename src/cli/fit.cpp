// SPDX-License-Identifier: Apache-2.0
#include "report/fit.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/profiles.h"
#include "io/map_reader.h"
#include "validate/engine_fit.h"
#include "validate/fit_tables.h"

#include <fstream>

#include <CLI/CLI.hpp>

namespace headroom {

namespace {

void write_part(const std::string& path, const std::string& yaml) {
    if (path.empty()) return;
    std::ofstream file(path);
    file << yaml;
    if (!file) refuse(path, "", "cannot be written");
}

}  // namespace

Action add_fit(CLI::App& app) {
    struct Options {
        Output output;
        MeasuredOptions measured;
        std::string tables, other, other_hw, part;
    };
    const auto o = std::make_shared<Options>();
    app.add_option(
           "measured", o->tables,
           "folder of kernel tables (CSV) of one device, with --hw; or a table of served runs, with --engine")
        ->required();
    app.add_option("--hw", o->measured.hw, "fit this device's ceilings: name in hwprofiles/ or a path");
    app.add_option("--engine", o->measured.engine,
                   "fit this engine's host times: name in engines/ or a path");
    app.add_option("--other", o->other,
                   "kernel tables of another device: how far the fit is off where nothing was measured");
    app.add_option("--other-hw", o->other_hw, "that device");
    app.add_option("--configs", o->measured.configs,
                   "folder of Hugging Face configs, OWNER--NAME/config.json, for models that models/ lacks");
    app.add_option(
        "--part", o->part,
        "write the YAML for the profile to this file: `ceilings:` of the device and `kernels:` of its "
        "generation, or `time:` of the engine");
    add_output_options(app, o->output);
    return [o] {
        if (o->measured.hw.empty() == o->measured.engine.empty())
            refuse("fit", "", "needs --hw, to fit a device, or --engine, to fit an engine; one of them");
        if (!o->measured.engine.empty()) {
            const auto runs = serving_runs(parse_csv(read_file(o->tables), o->tables), o->tables);
            if (!runs)
                refuse(o->tables, "",
                       "is no table of served runs (columns silicon_ttft_ms, silicon_tpot_ms)");
            const EngineFitAnswer answer =
                fit_engine(o->measured.engine, *runs, profiles_for(o->measured, o->output));
            write_part(o->part, answer.yaml);
            emit(report(answer), o->output);
            return 0;
        }
        OtherTables other;
        if (o->other.empty() != o->other_hw.empty())
            refuse("--other", "", "needs --other-hw, and the reverse");
        if (!o->other.empty()) other = {o->other, load_hardware(o->output, o->other_hw)};
        const FitAnswer answer = fit_tables(o->tables, load_hardware(o->output, o->measured.hw), other);
        write_part(o->part, answer.yaml);
        emit(report(answer), o->output);
        return 0;
    };
}

}  // namespace headroom
