// SPDX-License-Identifier: Apache-2.0
#include "answers/map.h"

#include "cli/choices.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "io/catalogue.h"
#include "io/mapping_yaml.h"
#include "mapping/legality.h"
#include "report/map.h"

#include <CLI/CLI.hpp>

namespace headroom {
namespace {

struct Options {
    Subject subject;
    std::string nest, beside, candidates;
    std::string phase = "prefill", batch = "1", tokens = "8k";
    bool search = false, list = false;
};

// `--set S=8192`: what has no dot is a dimension or a tile factor of the nest.
Overrides plain_overrides(const Output& output, OptionFaults& faults) {
    Overrides found;
    for (const std::string& text : output.set) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            faults.add("--set", "\"" + text + "\" is not KEY=VALUE");
        } else if (text.find('.') > equals) {
            found[text.substr(0, equals)] = text.substr(equals + 1);
        } else if (text.rfind("hw.", 0) != 0) {
            faults.add("--set",
                       "\"" + text + "\" is neither a dimension nor a tile factor, nor starts with hw.");
        }
    }
    return found;
}

MappedComputation load(const Options& o, const std::string& name, const Overrides& set,
                       OptionFaults& faults) {
    const std::string data = data_folder(o.subject.output.data_dir);
    const std::string path = find_entry(data, "mappings", name);
    MappedComputation nest = read_mapping(path, data, set);
    for (const std::string& fault : mapping_faults(nest)) faults.add(path, fault);
    return nest;
}

int run_nest(const Options& o) {
    OptionFaults faults;
    const Overrides set = plain_overrides(o.subject.output, faults);
    faults.finish();
    MapAnswer a;
    a.mapping = o.nest;
    a.hw = o.subject.hw;
    a.set = o.subject.output.set;
    a.device = mapping_device(load_hardware(o.subject.output, o.subject.hw));
    a.given.nest = load(o, o.nest, set, faults);
    if (!o.beside.empty()) {
        // Tile factors belong to one nest; sizes to both.
        Overrides shared;
        for (const auto& [name, value] : set) {
            for (const LoopDimension& d : a.given.nest.computation.dimensions) {
                if (d.name == name) shared[name] = value;
            }
        }
        a.beside.emplace();
        a.beside->nest = load(o, o.beside, shared, faults);
    }
    faults.finish();
    a.given.analysis = analyse(a.given.nest, a.device);
    if (a.beside) a.beside->analysis = analyse(a.beside->nest, a.device);
    if (o.search) a.searched = search(a.given.nest, a.device);
    emit(report(a), o.subject.output);
    const bool found = !a.searched || a.searched->found;
    return found && a.analysis().fits ? 0 : 1;
}

int run_candidates(Options& o) {
    OptionFaults faults;
    const bool prefill = choose("--phase", o.phase, phases(true), faults);
    o.subject.model = o.candidates;
    const std::int64_t batch = parse_one_count("--batch", o.batch, 1, 1000000, faults);
    const std::int64_t tokens = parse_one_count("--tokens", o.tokens, 1, 100000000, faults);
    const Question question = load_question(o.subject, faults);
    emit(report(map_candidates(question, prefill, batch, tokens)), o.subject.output);
    return 0;
}

// Options that a nest has no use for.
void refuse_candidate_options(const CLI::App& app) {
    OptionFaults faults;
    for (const char* option : {"--phase", "--batch", "--tokens", "--tp", "--weights", "--kv"}) {
        if (app.count(option) > 0) faults.add(option, "is for --candidates MODEL; a mapping has none");
    }
    faults.finish();
}

}  // namespace

Action add_map(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    app.add_option("nest", o->nest, "name in mappings/ or a path; --list names them");
    app.add_flag("--list", o->list, "the mappings of the library");
    app.add_flag("--search", o->search, "the best tile factors and loop order within SRAM and registers");
    app.add_option("--explain", o->beside, "another mapping, shown beside this one loop by loop");
    app.add_option("--candidates", o->candidates,
                   "a model: the intermediates of one of its steps that could stay on the chip");
    app.add_option("--phase", o->phase, "--candidates: " + help_of(phases(true)));
    app.add_option("--batch", o->batch, "--candidates: sequences in the step (default 1)");
    app.add_option("--tokens", o->tokens, "--candidates: tokens of the prompt or the context (default 8k)");
    app.add_option("--hw", o->subject.hw, "name in hwprofiles/ or a path (default h100-sxm)");
    app.add_option("--tp", o->subject.tp, "--candidates: tensor parallel degree (default 1)");
    app.add_option("--weights", o->subject.weights, "--candidates: " + format_help("the weights"));
    app.add_option("--kv", o->subject.kv, "--candidates: " + format_help("the KV cache"));
    add_output_options(app, o->subject.output);
    return [o, &app] {
        if (o->list && o->nest.empty()) {
            for (const std::string& name : entry_names(data_folder(o->subject.output.data_dir), "mappings"))
                std::printf("%s\n", name.c_str());
            return 0;
        }
        if (o->list && !o->nest.empty())
            refuse("--list", "", "names every mapping; leave \"" + o->nest + "\" out to see them");
        if (o->candidates.empty()) refuse_candidate_options(app);
        if (!o->candidates.empty() && !o->nest.empty())
            refuse("--candidates", "",
                   "asks about a model, and \"" + o->nest + "\" is a mapping; leave one of them out");
        if (!o->candidates.empty()) return run_candidates(*o);
        if (o->nest.empty())
            refuse("headroom map", "", "name a mapping (headroom map --list), or a model with --candidates");
        return run_nest(*o);
    };
}

}  // namespace headroom
