// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"
#include "io/catalogue.h"

#include <string>
#include <vector>

namespace headroom {

/// `list`, `show NAME`, `check PATH`: what every catalogue command takes.
struct CatalogueOptions {
    Output output;
    std::string verb = "list";
    std::vector<std::string> names;
};
void add_catalogue_options(CLI::App& app, CatalogueOptions& options, const std::string& verbs);

/// Faults a verb that is none of `verbs`, or a name that is missing or too many.
void check_verb(const CatalogueOptions& options, const std::vector<std::string>& verbs);

/// Runs the three verbs. `load(path)` reads one entry and throws InputError; `all(entries)` and `one(entry)`
/// report.
template <class Load, class All, class One>
int run_catalogue(const CatalogueOptions& o, const std::string& kind, const Load& load, const All& all,
                  const One& one) {
    const std::string data = data_folder(o.output.data_dir);
    OptionFaults faults;
    if (o.verb == "list") {
        std::vector<decltype(load(std::string()))> entries;
        for (const std::string& name : entry_names(data, kind)) {
            try {
                entries.push_back(load(find_entry(data, kind, name)));
            } catch (const InputError& e) {
                faults.add(e);
            }
        }
        faults.finish();
        emit(all(entries), o.output);
        return 0;
    }
    for (const std::string& name : o.names) {
        try {
            const auto entry = load(find_entry(data, kind, name));
            if (o.verb == "show")
                emit(one(entry), o.output);
            else
                std::printf("%s: ok\n", name.c_str());
        } catch (const InputError& e) {
            faults.add(e);
        }
    }
    faults.finish();
    return 0;
}

}  // namespace headroom
