// SPDX-License-Identifier: Apache-2.0
#include "report/validate.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/profiles.h"
#include "cli/progress.h"
#include "validate/accuracy.h"
#include "validate/compare.h"
#include "validate/on_device.h"

#include <fstream>
#include <utility>

#include <CLI/CLI.hpp>

namespace headroom {
namespace {

/// Here `--output` names the measurement file: it is what another machine can compare again.
int on_this_device(const MeasuredOptions& measured, Output output) {
    if (const std::string why = no_device(); !why.empty())
        refuse("validate", "", why + "; --measured FILE compares recorded measurements");
    const std::string name = measured.hw.empty() ? device_profile(device_name(), "validate") : measured.hw;
    const Hardware hardware = load_hardware(output, name);
    const std::string record = std::exchange(output.file, "");
    const ValidateAnswer answer = validate_on_device(hardware, record, show_progress);
    end_progress();
    emit(report(answer), output);
    return 0;
}

}  // namespace

Action add_validate(CLI::App& app) {
    struct Options {
        Output output;
        MeasuredOptions measured;
        std::string accuracy;
    };
    const auto o = std::make_shared<Options>();
    add_measured_options(app, o->measured);
    add_benchmark_options(app, o->measured);
    app.add_option(
        "--accuracy", o->accuracy,
        "write the accuracy report of these measurements (Markdown) to this file; fits engines again");
    add_output_options(app, o->output);
    app.footer(
        "Without --measured: predicts the validation shapes, runs them on this machine's GPU, prints the "
        "comparison,\nand writes the measurements (headroom.measured/1) to --output.");
    return [o] {
        if (o->measured.paths.empty()) return on_this_device(o->measured, o->output);
        const Profiles profiles = profiles_for(o->measured, o->output);
        if (!o->accuracy.empty()) {
            std::ofstream file(o->accuracy);
            file << accuracy_report(o->measured.paths, profiles);
            if (!file) refuse(o->accuracy, "", "cannot be written");
            return 0;
        }
        emit(report(compare(o->measured.paths, profiles)), o->output);
        return 0;
    };
}

}  // namespace headroom
