// SPDX-License-Identifier: Apache-2.0
#include "cli/catalogue.h"

#include "cli/commands.h"
#include "io/hardware_yaml.h"
#include "report/catalogue.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace headroom {

void add_catalogue_options(CLI::App& app, CatalogueOptions& o, const std::string& verbs) {
    app.add_option("verb", o.verb, verbs);
    app.add_option("names", o.names, "names or paths");
    add_output_options(app, o.output);
}

void check_verb(const CatalogueOptions& o, const std::vector<std::string>& verbs) {
    if (std::find(verbs.begin(), verbs.end(), o.verb) == verbs.end()) {
        refuse("", "", "unknown verb \"" + o.verb + "\"", did_you_mean(o.verb, verbs));
    }
    if (o.verb != "list" && o.names.empty()) refuse("", "", o.verb + " needs a name or a path");
    if (o.verb == "list" && !o.names.empty()) refuse("", "", "list takes no name", "show " + o.names.front());
}

Action add_hw(CLI::App& app) {
    const auto o = std::make_shared<CatalogueOptions>();
    add_catalogue_options(app, *o, "list, show NAME or check PATH (default list)");
    return [o] {
        check_verb(*o, {"list", "show", "check"});
        const std::string data = data_folder(o->output.data_dir);
        return run_catalogue(
            *o, "hwprofiles",
            [&](const std::string& path) {
                return read_hardware(path, data, overrides_for(o->output, "hw"));
            },
            [](const std::vector<Hardware>& all) { return report_list(all); },
            [](const Hardware& one) { return report(one); });
    };
}

}  // namespace headroom
