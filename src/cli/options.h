// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "base/diagnostic.h"
#include "io/map_reader.h"
#include "report/render.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace headroom {

/// Options of every command, as text; they are parsed with our own units so that faults read alike
/// everywhere.
struct Output {
    std::string format = "table";
    std::string file;
    std::string data_dir;
    std::vector<std::string> set;
};

/// Options of every question about a deployment.
struct Subject {
    Output output;
    std::string model, hw = "h100-sxm", engine = "vllm";
    std::string weights, kv;
    std::string routing = "uniform";
    std::string speculate;
    std::string tp, pp, ep, dp, cp;  ///< "": 1, or what a search chooses
};

void add_output_options(CLI::App& app, Output& output);
void add_subject_options(CLI::App& app, Subject& subject);

/// Faults of options, gathered so that all are told at once.
class OptionFaults {
  public:
    void add(const std::string& option, const std::string& message, const std::string& suggestion = "");
    void add(const InputError& error);
    void finish() const;

  private:
    std::vector<Diagnostic> found_;
};

/// "16", "1,16,64", "1:64:x2", "1k:9k:+2k": whole numbers from `low` to `high`, in the order given.
std::vector<std::int64_t> parse_counts(const std::string& option, const std::string& text, std::int64_t low,
                                       std::int64_t high, OptionFaults& faults);
std::int64_t parse_one_count(const std::string& option, const std::string& text, std::int64_t low,
                             std::int64_t high, OptionFaults& faults);

/// "0.99": a plain number from `low` to `high`.
double parse_plain(const std::string& option, const std::string& text, double low, double high,
                   OptionFaults& faults);

template <Dimension D>
Quantity<D> parse_option(const std::string& option, const std::string& text, OptionFaults& faults) {
    const auto parsed = parse_quantity(text, D);
    if (const auto* bad = std::get_if<ParseFault>(&parsed)) {
        faults.add(option, bad->message, bad->suggestion);
        return {};
    }
    return Quantity<D>(std::get<double>(parsed));
}

/// "a,b,c" at commas; empty parts are faults.
std::vector<std::string> split_list(const std::string& option, const std::string& text, OptionFaults& faults);

/// The part of `--set` for one kind of file ("hw", "model", "engine", "workload"), its prefix taken off.
Overrides overrides_for(const Output& output, const std::string& kind);
/// Faults any `--set` that has no "KEY=VALUE" form or whose prefix is none of `kinds`.
void check_set(const Output& output, const std::vector<std::string>& kinds, OptionFaults& faults);

/// Loads what a question is about; throws InputError with every fault of options and files. `Subject::model`
/// may be replaced by another name, for lists. `--set workload.` is for commands that read one.
Question load_question(const Subject& subject, OptionFaults& faults, bool reads_workload = false);

/// A model, device or engine by name or path, with its part of `--set`.
Model load_model(const Output& output, const std::string& name);
Hardware load_hardware(const Output& output, const std::string& name);
Engine load_engine(const Output& output, const std::string& name);

/// The model with `--weights` and `--kv` applied; "" leaves what its config says. Faults name those two, or
/// `option`.
Model with_precision(Model model, const std::string& weights, const std::string& kv, OptionFaults& faults,
                     const std::string& option = "");

/// "uniform", "balanced", "power-law:1.2".
Routing parse_routing(const std::string& text, OptionFaults& faults);
/// The model with `--speculate` applied: "k=3,accept=0.7..0.8,draft=mtp" and the like; "" leaves it.
Model with_speculation(Model model, const std::string& text, const Output& output, OptionFaults& faults);

/// Fills the names and formats of `Question::echo`.
void fill_echo(Question& question, const Subject& subject);

/// Writes an answer to stdout or `--output`, as `--format` says.
void emit(const Report& report, const Output& output);

}  // namespace headroom
