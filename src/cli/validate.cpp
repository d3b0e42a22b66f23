// SPDX-License-Identifier: Apache-2.0
#include "report/validate.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/profiles.h"
#include "validate/accuracy.h"
#include "validate/compare.h"

#include <fstream>

#include <CLI/CLI.hpp>

namespace headroom {

Action add_validate(CLI::App& app) {
    struct Options {
        Output output;
        MeasuredOptions measured;
        std::string accuracy;
    };
    const auto o = std::make_shared<Options>();
    add_measured_options(app, o->measured);
    app.add_option(
        "--accuracy", o->accuracy,
        "write the accuracy report of these measurements (Markdown) to this file; fits engines again");
    add_output_options(app, o->output);
    return [o] {
        if (o->measured.paths.empty()) {
            refuse(
                "validate", "",
                "this build has no GPU support, so it cannot run kernels; --measured FILE compares recorded "
                "measurements");
        }
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
