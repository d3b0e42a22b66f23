// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include "base/units.h"
#include "cli/choices.h"
#include "io/catalogue.h"
#include "io/engine_yaml.h"
#include "io/hardware_yaml.h"
#include "io/model_reader.h"
#include "ops/speculation.h"
#include "ops/tensor.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace headroom {
namespace {

constexpr std::size_t kMostValues = 10000;  ///< of a list: a range that is longer was hardly meant

const Choices<Format> kFormats{{"table", Format::table}, {"json", Format::json}, {"csv", Format::csv}};

}  // namespace

void add_output_options(CLI::App& app, Output& o) {
    app.add_option("--format", o.format, help_of(kFormats))->each([](const std::string& f) {
        OptionFaults faults;
        choose("--format", f, kFormats, faults);
        faults.finish();
    });
    app.add_option("--output", o.file, "write the answer to this file instead of stdout");
    app.add_option("--data-dir", o.data_dir,
                   "folder of the catalogues (default: $HEADROOM_DATA, else beside the program)");
    app.add_option("--set", o.set,
                   "KEY=VALUE: change one field of a loaded file, e.g. hw.memory.bandwidth=8TB/s; repeatable")
        ->allow_extra_args(false);
}

void add_subject_options(CLI::App& app, Subject& s) {
    app.add_option("--model", s.model,
                   "name in models/, our YAML, a Hugging Face config.json, or a folder that holds one");
    app.add_option("--hw", s.hw, "name in hwprofiles/ or a path (default h100-sxm)");
    app.add_option("--engine", s.engine,
                   "name in engines/ or a path; ideal charges only weights and KV (default vllm)");
    app.add_option(
        "--weights", s.weights,
        format_help("the linear weights") + "; fp8:all for every matrix (default: as the config says)");
    app.add_option("--kv", s.kv,
                   format_help("the KV cache") + " (default: as the config says, else 16 bits)");
    app.add_option(
        "--routing", s.routing,
        "how tokens choose experts: uniform, balanced, or power-law:ALPHA (0 to 2; published benchmarks use "
        "1.01 and 1.2); the interval of a step's time reaches to uniform (default uniform)");
    app.add_option("--speculate", s.speculate,
                   "speculative decoding: k=3,accept=0.7..0.8,draft=mtp: guesses per step, how often one is "
                   "right (a number or an interval), and what guesses: ngram (default, free), mtp (the "
                   "model's prediction layers) or a model");
    app.add_option("--tp", s.tp, "tensor parallel degree, GPUs (default 1)");
    app.add_option("--pp", s.pp, "pipeline stages (default 1)");
    app.add_option("--ep", s.ep, "expert parallel degree, of the tp x dp GPUs (default 1)");
    app.add_option("--dp", s.dp, "data-parallel attention ranks (default 1)");
    app.add_option("--cp", s.cp,
                   "context parallel degree: a sequence's tokens are cut over so many GPUs (default 1)");
    add_output_options(app, s.output);
}

void OptionFaults::add(const std::string& option, const std::string& message, const std::string& suggestion) {
    Diagnostic fault;
    fault.where.file = option;
    fault.message = message;
    fault.suggestion = suggestion;
    found_.push_back(std::move(fault));
}

void OptionFaults::add(const InputError& error) {
    found_.insert(found_.end(), error.diagnostics().begin(), error.diagnostics().end());
}

void OptionFaults::finish() const {
    std::vector<Diagnostic> told;  // what several readers stumble over (a data folder) once
    for (const Diagnostic& fault : found_) {
        const bool again = std::any_of(told.begin(), told.end(), [&](const Diagnostic& other) {
            return to_string(other) == to_string(fault);
        });
        if (!again) told.push_back(fault);
    }
    if (!told.empty()) throw InputError(told);
}

std::vector<std::string> split_list(const std::string& option, const std::string& text,
                                    OptionFaults& faults) {
    std::vector<std::string> parts;
    if (text.empty()) {
        faults.add(option, "is empty");
        return parts;
    }
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t to = std::min(text.find(',', from), text.size());
        parts.push_back(text.substr(from, to - from));
        if (parts.back().empty()) faults.add(option, fmt::format("\"{}\" has an empty part", text));
        from = to + 1;
    }
    return parts;
}

std::int64_t parse_one_count(const std::string& option, const std::string& text, std::int64_t low,
                             std::int64_t high, OptionFaults& faults) {
    if (text.find_first_of(",:") != std::string::npos) {
        faults.add(option, fmt::format("\"{}\" is a list; one number is taken here", text));
        return low;
    }
    const auto parsed = parse_count(text);
    if (const auto* bad = std::get_if<ParseFault>(&parsed)) {
        faults.add(option, bad->message, bad->suggestion);
        return low;
    }
    const std::int64_t value = std::get<std::int64_t>(parsed);
    if (value >= low && value <= high) return value;
    faults.add(option, fmt::format("{} is out of range; {} to {} is allowed", value, low, high));
    return low;
}

std::vector<std::int64_t> parse_counts(const std::string& option, const std::string& text, std::int64_t low,
                                       std::int64_t high, OptionFaults& faults) {
    std::vector<std::int64_t> values;
    for (const std::string& part : split_list(option, text, faults)) {
        const std::size_t first = part.find(':');
        if (first == std::string::npos) {
            values.push_back(parse_one_count(option, part, low, high, faults));
            continue;
        }
        const std::size_t mark = part.find(':', first + 1);
        const char kind = mark == std::string::npos || mark + 1 >= part.size() ? '?' : part[mark + 1];
        if (kind != 'x' && kind != '+') {
            faults.add(option,
                       fmt::format("\"{}\" is not a range; write from:to:xN (times N) or from:to:+N", part));
            continue;
        }
        const std::int64_t from = parse_one_count(option, part.substr(0, first), low, high, faults);
        const std::int64_t to =
            parse_one_count(option, part.substr(first + 1, mark - first - 1), low, high, faults);
        const std::int64_t step =
            parse_one_count(option, part.substr(mark + 2), kind == 'x' ? 2 : 1, high, faults);
        if (from > to) faults.add(option, fmt::format("\"{}\" goes from the larger to the smaller", part));
        for (std::int64_t v = std::max<std::int64_t>(from, kind == 'x' ? 1 : from); v <= to;
             v = kind == 'x' ? v * step : v + step) {
            if (values.size() == kMostValues) {
                faults.add(option, fmt::format("\"{}\" holds more than {} values", text, kMostValues));
                return values;
            }
            values.push_back(v);
        }
    }
    return values.empty() ? std::vector{low} : values;
}

double parse_plain(const std::string& option, const std::string& text, double low, double high,
                   OptionFaults& faults) {
    const auto parsed = parse_number(text);
    if (const auto* bad = std::get_if<ParseFault>(&parsed)) {
        faults.add(option, bad->message, bad->suggestion);
        return low;
    }
    const double value = std::get<double>(parsed);
    if (value >= low && value <= high) return value;
    faults.add(option, fmt::format("{} is out of range; {} to {} is allowed", value, low, high));
    return low;
}

Overrides overrides_for(const Output& output, const std::string& kind) {
    Overrides found;
    for (const std::string& text : output.set) {
        const std::size_t equals = text.find('=');
        if (equals != std::string::npos && text.rfind(kind + ".", 0) == 0) {
            found[text.substr(kind.size() + 1, equals - kind.size() - 1)] = text.substr(equals + 1);
        }
    }
    return found;
}

void check_set(const Output& output, const std::vector<std::string>& kinds, OptionFaults& faults) {
    std::string all;
    for (const std::string& kind : kinds) all += (all.empty() ? "" : ", ") + kind + ".";
    for (const std::string& text : output.set) {
        const std::size_t equals = text.find('='), dot = text.find('.');
        const std::string kind = text.substr(0, std::min(dot, equals));
        if (equals == std::string::npos || dot == std::string::npos || dot > equals) {
            faults.add("--set",
                       fmt::format("\"{}\" is not KEY=VALUE with a KEY that starts with {}", text, all));
        } else if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
            faults.add("--set", fmt::format("\"{}\" does not start with {}", text, all),
                       did_you_mean(kind, kinds));
        }
    }
}

Model load_model(const Output& o, const std::string& name) {
    return read_model(find_entry(data_folder(o.data_dir), "models", name), overrides_for(o, "model")).model;
}

Hardware load_hardware(const Output& o, const std::string& name) {
    const std::string data = data_folder(o.data_dir);
    return read_hardware(find_entry(data, "hwprofiles", name), data, overrides_for(o, "hw"));
}

Engine load_engine(const Output& o, const std::string& name) {
    return read_engine(find_entry(data_folder(o.data_dir), "engines", name), overrides_for(o, "engine"));
}

Model with_precision(Model model, const std::string& weights, const std::string& kv, OptionFaults& faults,
                     const std::string& option) {
    const auto format_of = [&](const std::string& of, const std::string& name) {
        const auto format = storage_format(name);
        std::vector<std::string> names = storage_format_names();
        if (name.find(':') != std::string::npos) names.emplace_back(name.substr(0, name.find(':')) + ":all");
        if (!format) refuse_choice(of, name, names, faults);
        return format;
    };
    if (!weights.empty()) {
        const bool every = weights.size() > 4 && weights.substr(weights.size() - 4) == ":all";
        const auto format = format_of(option.empty() ? "--weights" : option,
                                      every ? weights.substr(0, weights.size() - 4) : weights);
        if (format) model = with_weight_format(std::move(model), *format, every);
    }
    if (!kv.empty()) {
        if (const auto format = format_of(option.empty() ? "--kv" : option, kv)) model.kv_format = *format;
    }
    return model;
}

Routing parse_routing(const std::string& text, OptionFaults& faults) {
    if (const auto routing = routing_of(text)) return *routing;
    const std::vector<std::string> names{"uniform", "balanced", "power-law:1.2"};
    faults.add("--routing",
               fmt::format("\"{}\" is none of uniform, balanced, power-law:ALPHA with an ALPHA from 0 to {}",
                           text, kLargestRoutingExponent),
               text.rfind("power", 0) == 0 ? names.back() : did_you_mean(text, names));
    return {};
}

void fill_echo(Question& q, const Subject& s) {
    q.echo = {s.model,
              s.hw,
              s.engine,
              "",
              s.weights.empty() ? to_string(linear_format(q.model)) : s.weights,
              to_string(kv_format(q.model)),
              s.output.set,
              s.speculate};
}

Question load_question(const Subject& s, OptionFaults& faults, bool reads_workload) {
    Question q;
    const auto attempt = [&](const auto& load) {
        try {
            load();
        } catch (const InputError& e) {
            faults.add(e);
        }
    };
    std::vector<std::string> kinds{"hw", "model", "engine"};
    if (reads_workload) kinds.emplace_back("workload");
    check_set(s.output, kinds, faults);
    if (s.model.empty()) {
        faults.add("--model",
                   "is needed: a name in models/ (headroom models list) or a path to a config.json");
    } else {
        attempt([&] {
            q.model = with_speculation(with_precision(load_model(s.output, s.model), s.weights, s.kv, faults),
                                       s.speculate, s.output, faults);
        });
    }
    q.model.routing = parse_routing(s.routing, faults);
    attempt([&] { q.hardware = load_hardware(s.output, s.hw); });
    attempt([&] { q.engine = load_engine(s.output, s.engine); });
    const auto degree = [&](const char* option, const std::string& text) {
        return text.empty() ? 1 : static_cast<int>(parse_one_count(option, text, 1, 4096, faults));
    };
    q.deployment = {degree("--tp", s.tp), degree("--pp", s.pp), degree("--ep", s.ep), degree("--dp", s.dp),
                    degree("--cp", s.cp)};
    faults.finish();
    for (const std::string& fault : deployment_faults(q.model, q.deployment)) faults.add("", fault);
    const std::string draft = speculation_fault(q.model, q.deployment);
    if (!draft.empty()) faults.add("--speculate", draft);
    faults.finish();
    fill_echo(q, s);
    return q;
}

void emit(const Report& report, const Output& output) {
    OptionFaults faults;
    const std::string text = render(report, choose("--format", output.format, kFormats, faults));
    if (output.file.empty()) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        return;
    }
    // Written beside and renamed, so that a full disk does not leave half an answer in the place of the old
    // one.
    const std::string beside = output.file + ".part";
    std::ofstream file(beside, std::ios::binary);
    file << text;
    file.close();
    std::error_code failed;
    if (file) std::filesystem::rename(beside, output.file, failed);
    if (!file || failed) refuse("--output", "", "cannot write " + output.file);
}

}  // namespace headroom
