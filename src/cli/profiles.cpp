// SPDX-License-Identifier: Apache-2.0
#include "cli/profiles.h"

#include "base/diagnostic.h"
#include "cli/choices.h"
#include "io/catalogue.h"
#include "io/engine_yaml.h"
#include "io/mapping_yaml.h"
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

std::vector<ProfileSince> engine_versions(const std::string& data) {
    std::vector<ProfileSince> found;
    for (const std::string& name : entry_names(data, "engines"))
        found.push_back({name, read_engine(find_entry(data, "engines", name)).since});
    return found;
}

void add_measured_options(CLI::App& app, MeasuredOptions& o) {
    app.add_option("--measured", o.paths,
                   "measurements: files, or folders that are searched for them (kernel tables, serving runs, "
                   "headroom.measured/1; results of vLLM's and SGLang's benchmarks, AIPerf, trtllm-bench, "
                   "llama-bench); the format is detected");
    app.add_option("--configs", o.configs,
                   "folder of Hugging Face configs, OWNER--NAME/config.json, for models that models/ lacks");
    app.add_option("--hw", o.hw, "device profile instead of those that the files name");
    app.add_option("--engine", o.engine,
                   "engine profile instead of those that the files name; single kernels have none");
}

void add_benchmark_options(CLI::App& app, MeasuredOptions& o) {
    app.add_option(
        "--model", o.model,
        "model of a benchmark's results, instead of the one that the file names: name in models/ or "
        "a path");
    app.add_option("--weights", o.weights, format_help("its linear weights") + " (default: the file's)");
    app.add_option("--kv", o.kv, format_help("its KV cache") + " (default: the file's)");
    app.add_option("--tp", o.tp,
                   "tensor parallel degree of a benchmark's results (default: the file's, else 1)");
    app.add_option("--pp", o.pp, "pipeline stages (default: the file's, else 1)");
    app.add_option("--ep", o.ep, "expert parallel degree (default: the file's, else 1)");
    app.add_option("--dp", o.dp, "data-parallel attention ranks (default 1)");
    app.add_option("--concurrency", o.concurrency, "requests in flight, where the file does not say");
}

Profiles profiles_for(const MeasuredOptions& o, const Output& output) {
    Profiles p;
    p.forced_hardware = o.hw;
    p.forced_engine = o.engine;
    p.forced_model = o.model;
    p.weights = o.weights;
    p.kv = o.kv;
    OptionFaults faults;
    const auto degree = [&](const char* option, const std::string& text) {
        return text.empty() ? 1 : static_cast<int>(parse_one_count(option, text, 1, 4096, faults));
    };
    if (!(o.tp + o.pp + o.ep + o.dp).empty())
        p.deployment = Deployment{degree("--tp", o.tp), degree("--pp", o.pp), degree("--ep", o.ep),
                                  degree("--dp", o.dp)};
    if (!o.concurrency.empty()) p.concurrency = parse_plain("--concurrency", o.concurrency, 1, 1e9, faults);
    for (const auto& [option, name] : {std::pair{"--weights", o.weights}, {"--kv", o.kv}}) {
        if (!name.empty() && !storage_format(name))
            refuse_choice(option, name, storage_format_names(), faults);
    }
    // Named but needed by no file: still to be told when there is none of this name.
    if (!o.hw.empty()) {
        try {
            load_hardware(output, o.hw);
        } catch (const InputError& e) {
            faults.add(e);
        }
    }
    faults.finish();
    p.engine_versions = [output] { return engine_versions(data_folder(output.data_dir)); };
    p.hardware = [output](const std::string& name) { return load_hardware(output, name); };
    p.engine = [output](const std::string& name) { return load_engine(output, name); };
    p.mapping = [data_dir = output.data_dir](const std::string& name, const Overrides& set) {
        const std::string data = data_folder(data_dir);
        return read_mapping(find_entry(data, "mappings", name), data, set);
    };
    p.model = [output, configs = o.configs](const std::string& name) {
        const std::string folder = config_folder(configs, name);
        return folder.empty() ? load_model(output, name) : read_model(folder).model;
    };
    return p;
}

}  // namespace headroom
