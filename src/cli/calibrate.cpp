// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "io/catalogue.h"
#include "validate/calibration.h"
#include "validate/compare.h"
#include "validate/on_device.h"

#include <fstream>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace headroom {

Action add_calibrate(CLI::App& app) {
    struct Options {
        Output output;
        std::string hw;
    };
    const auto o = std::make_shared<Options>();
    app.add_option("--hw", o->hw,
                   "profile that the datasheet's values are taken from: name in hwprofiles/ or a path "
                   "(default: the one of the device found)");
    app.add_option("--output", o->output.file, "write the profile (YAML) to this file instead of stdout");
    app.add_option("--data-dir", o->output.data_dir,
                   "folder of the catalogues (default: $HEADROOM_DATA, else beside the program)");
    return [o] {
        if (const std::string why = no_device(); !why.empty())
            refuse("calibrate", "", why + "; validate --measured FILE compares recorded measurements");
        const std::string name = o->hw.empty() ? device_profile(device_name(), "calibrate") : o->hw;
        const Hardware hardware = load_hardware(o->output, name);
        const DeviceCeilings measured = measure_device(show_progress);
        end_progress();
        const std::string profile = calibrated_profile(read_file(hardware.file), hardware, measured);
        if (o->output.file.empty()) {
            fmt::print("{}", profile);
            return 0;
        }
        std::ofstream file(o->output.file);
        file << profile << std::flush;
        if (!file) refuse(o->output.file, "", "cannot be written");
        return 0;
    };
}

}  // namespace headroom
