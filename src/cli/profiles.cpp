// SPDX-License-Identifier: Apache-2.0
#include "cli/profiles.h"

#include "base/diagnostic.h"
#include "io/catalogue.h"
#include "io/model_reader.h"
#include "validate/serving_cases.h"

#include <filesystem>

#include <CLI/CLI.hpp>

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// The folder of `configs` whose name, less its owner and what checkpoints add to it, is `name`; or "".
std::string config_folder(const std::string& configs, const std::string& name) {
    std::string found;
    if (configs.empty()) return found;
    for (const auto& entry : fs::directory_iterator(configs)) {
        const std::string folder = entry.path().filename().string();
        const auto at = folder.find("--");
        if (at == std::string::npos || catalogue_name(folder.substr(at + 2)) != name) continue;
        if (found.empty() || folder.size() < fs::path(found).filename().string().size())
            found = entry.path().string();
    }
    return found;
}

}  // namespace

void add_measured_options(CLI::App& app, MeasuredOptions& o) {
    app.add_option("--measured", o.paths,
                   "measurements: files, or folders that are searched for them (kernel tables, serving runs, "
                   "headroom.measured/1); the format is detected");
    app.add_option("--configs", o.configs,
                   "folder of Hugging Face configs, OWNER--NAME/config.json, for models that models/ lacks");
    app.add_option("--hw", o.hw, "device profile instead of the one that the files name");
    app.add_option("--engine", o.engine, "engine profile instead of the one that the files name");
}

Profiles profiles_for(const MeasuredOptions& o, const Output& output) {
    Profiles p;
    p.forced_hardware = o.hw;
    p.forced_engine = o.engine;
    p.hardware = [output](const std::string& name) { return load_hardware(output, name); };
    p.engine = [output](const std::string& name) { return load_engine(output, name); };
    p.model = [output, configs = o.configs](const std::string& name) {
        const std::string folder = config_folder(configs, name);
        return folder.empty() ? load_model(output, name) : read_model(folder).model;
    };
    return p;
}

}  // namespace headroom
