// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "cli/options.h"
#include "ops/speculation.h"

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr const char* kOption = "--speculate";
/// Kernels of decode attention take so few new tokens of a sequence.
constexpr int kMostGuesses = 15;

// "0.7" or "0.7..0.8" with the middle expected.
void set_acceptance(Speculation& s, const std::string& text, OptionFaults& faults) {
    const std::size_t dots = text.find("..");
    s.accept_low = parse_plain(kOption, text.substr(0, dots), 0, 1, faults);
    s.accept_high =
        dots == std::string::npos ? s.accept_low : parse_plain(kOption, text.substr(dots + 2), 0, 1, faults);
    if (s.accept_high < s.accept_low)
        faults.add(kOption, fmt::format("accept={} goes from the larger to the smaller", text));
    s.accept = (s.accept_low + s.accept_high) / 2;
}

void set_draft(Speculation& s, const Model& model, const std::string& name, const Output& output,
               OptionFaults& faults) {
    if (name == "ngram") return;
    s.own_layers = name == "mtp";
    if (!s.own_layers) {
        try {
            s.draft = std::make_shared<const Model>(load_model(output, name));
        } catch (const InputError& e) {
            faults.add(e);
        }
    } else if (model.prediction.count > 0) {
        s.draft = std::make_shared<const Model>(prediction_draft(model));
    } else {
        faults.add(kOption, model.name + " has no prediction layers for draft=mtp",
                   "draft=ngram or draft=MODEL");
    }
}

}  // namespace

Model with_speculation(Model model, const std::string& text, const Output& output, OptionFaults& faults) {
    if (text.empty()) return model;
    Speculation s;
    bool accepts = false;
    for (const std::string& part : split_list(kOption, text, faults)) {
        const std::size_t equals = part.find('=');
        const std::string key = part.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
        if (key == "k") {
            s.guesses = static_cast<int>(parse_one_count(kOption, value, 1, kMostGuesses, faults));
        } else if (key == "accept") {
            accepts = true;
            set_acceptance(s, value, faults);
        } else if (key == "draft") {
            set_draft(s, model, value, output, faults);
        } else {
            faults.add(kOption, fmt::format("\"{}\" is none of k=, accept=, draft=", part),
                       did_you_mean(key, std::vector<std::string>{"k", "accept", "draft"}));
        }
    }
    if (s.guesses == 0) faults.add(kOption, "needs k=N, the tokens guessed per step");
    if (!accepts) faults.add(kOption, "needs accept=A or accept=A..B, how often a guess is right");
    model.speculation = std::move(s);
    return model;
}

}  // namespace headroom
