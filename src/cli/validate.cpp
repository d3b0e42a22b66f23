// SPDX-License-Identifier: Apache-2.0
#include "report/validate.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/profiles.h"
#include "validate/compare.h"

#include <CLI/CLI.hpp>

namespace headroom {

Action add_validate(CLI::App& app) {
    struct Options {
        Output output;
        MeasuredOptions measured;
    };
    const auto o = std::make_shared<Options>();
    add_measured_options(app, o->measured);
    add_output_options(app, o->output);
    return [o] {
        if (o->measured.paths.empty()) {
            refuse(
                "validate", "",
                "this build has no GPU support, so it cannot run kernels; --measured FILE compares recorded "
                "measurements");
        }
        emit(report(compare(o->measured.paths, profiles_for(o->measured, o->output))), o->output);
        return 0;
    };
}

}  // namespace headroom
