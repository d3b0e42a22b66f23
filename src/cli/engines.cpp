// SPDX-License-Identifier: Apache-2.0
#include "cli/catalogue.h"
#include "cli/commands.h"
#include "cli/profiles.h"
#include "io/engine_yaml.h"
#include "io/learned_engine.h"
#include "io/start_log.h"
#include "report/catalogue.h"
#include "report/start_log.h"
#include "spec/engine_version.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>

namespace headroom {
namespace {

struct LearnOptions {
    std::string base, hw, out;
};

/// The profile that what a log does not tell is kept from.
std::string base_name(const LearnOptions& o, const StartLog& log, const std::string& data) {
    if (!o.base.empty()) return o.base;
    const auto versions = engine_versions(data);
    if (const std::string found = profile_not_later(log.version, versions); !found.empty()) return found;
    // Older than every profile: the oldest is nearest.
    std::string oldest;
    std::vector<int> first;
    for (const ProfileSince& p : versions) {
        const std::vector<int> since = version_numbers(p.since);
        if (!p.name.starts_with("vllm-") || log.version.empty() || (!oldest.empty() && first < since))
            continue;
        oldest = p.name;
        first = since;
    }
    if (!oldest.empty()) return oldest;
    return "vllm";
}

/// A new file that is only there when it is whole; never in the place of another.
void write_new(const std::string& path, const std::string& text) {
    namespace fs = std::filesystem;
    if (fs::exists(path)) refuse("--out", "", path + " exists and is left as it is; choose another name");
    const std::string beside = path + ".part";
    std::ofstream file(beside, std::ios::binary);
    file << text;
    file.close();
    std::error_code failed;
    if (file) fs::create_hard_link(beside, path, failed);  // fails where the name was taken meanwhile
    if (failed && !fs::exists(path)) fs::rename(beside, path, failed);
    std::error_code ignored;
    fs::remove(beside, ignored);
    if (!file || failed) refuse("--out", "", "cannot write " + path);
}

void learn(const CatalogueOptions& o, const LearnOptions& l) {
    if (o.names.size() != 1) refuse("", "", "learn reads one log at a time");
    if (!l.out.empty() && std::filesystem::exists(l.out))
        refuse("--out", "", l.out + " exists and is left as it is; choose another name");
    const StartLog log = read_start_log(o.names[0]);
    const std::string data = data_folder(o.output.data_dir);
    std::optional<double> device;
    if (!l.hw.empty()) device = load_hardware(o.output, l.hw).memory.capacity.value.base();
    const LearnedEngine engine =
        learn_engine(log, find_entry(data, "engines", base_name(l, log, data)), device);
    if (l.out.empty()) {
        emit(report(log, engine), o.output);
        return;
    }
    write_new(l.out, engine.yaml);
    std::printf("%s: the memory part is learned from %s, the rest is %s\n", l.out.c_str(), log.file.c_str(),
                engine.base.c_str());
    for (const std::string& what : engine.missing) std::printf("not in the log: %s\n", what.c_str());
}

}  // namespace

Action add_engines(CLI::App& app) {
    const auto o = std::make_shared<CatalogueOptions>();
    const auto l = std::make_shared<LearnOptions>();
    add_catalogue_options(app, *o, "list, show NAME, check PATH or learn LOG (default list)");
    app.add_option(
        "--base", l->base,
        "learn: profile that everything else is kept from (default: the newest vLLM profile that is "
        "not later than the log's version)");
    app.add_option("--hw", l->hw,
                   "learn: device, for logs that do not say its memory: name in hwprofiles/ or a path");
    app.add_option("--out", l->out, "learn: write the profile to this new file instead of stdout");
    app.footer(
        "learn reads a vLLM start-up log (level DEBUG tells most) and prints an engine profile whose memory "
        "part is the log's.");
    return [o, l] {
        check_verb(*o, {"list", "show", "check", "learn"});
        if (o->verb == "learn") {
            learn(*o, *l);
            return 0;
        }
        return run_catalogue(
            *o, "engines",
            [&](const std::string& path) { return read_engine(path, overrides_for(o->output, "engine")); },
            [](const std::vector<Engine>& all) { return report_list(all); },
            [](const Engine& one) { return report(one); });
    };
}

}  // namespace headroom
