// SPDX-License-Identifier: Apache-2.0
#include "cli/catalogue.h"
#include "cli/commands.h"
#include "io/model_reader.h"
#include "report/catalogue.h"

#include <CLI/CLI.hpp>

namespace headroom {
namespace {

struct Options {
    CatalogueOptions catalogue;
    std::string weights, kv;
    bool unused_keys = false;
};

ModelFacts load_facts(const Options& o, const std::string& path) {
    OptionFaults faults;
    ReadModel read = read_model(path, overrides_for(o.catalogue.output, "model"));
    ModelFacts facts = model_facts(with_precision(std::move(read.model), o.weights, o.kv, faults));
    faults.finish();
    facts.unused_keys = std::move(read.unused_keys);
    facts.notes = std::move(read.notes);
    return facts;
}

// The YAML goes out as it is; what was assumed on the way goes to stderr.
int import_model(const Options& o) {
    for (const std::string& name : o.catalogue.names) {
        const ReadModel read = read_model(name, overrides_for(o.catalogue.output, "model"));
        for (const std::string& note : read.notes)
            std::fprintf(stderr, "%s: note: %s\n", name.c_str(), note.c_str());
        Report yaml;
        yaml.text = write_model_yaml(read.model);
        Output output = o.catalogue.output;
        output.format = "table";
        emit(yaml, output);
    }
    return 0;
}

}  // namespace

Action add_models(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    add_catalogue_options(app, o->catalogue,
                          "list, show NAME, check PATH or import config.json (default list)");
    app.add_option("--weights", o->weights,
                   "show it with its linear weights in this format (see predict --help)");
    app.add_option("--kv", o->kv, "show it with its KV cache in this format");
    app.add_flag("--unused-keys", o->unused_keys, "with show: the keys of a config.json that were not used");
    return [o] {
        check_verb(o->catalogue, {"list", "show", "check", "import"});
        if (o->catalogue.verb == "import") return import_model(*o);
        return run_catalogue(
            o->catalogue, "models", [&](const std::string& path) { return load_facts(*o, path); },
            [](const std::vector<ModelFacts>& all) { return report_list(all); },
            [&](const ModelFacts& one) { return report(one, o->unused_keys); });
    };
}

}  // namespace headroom
