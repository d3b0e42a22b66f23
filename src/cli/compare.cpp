// SPDX-License-Identifier: Apache-2.0
#include "answers/compare.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "ops/variants.h"
#include "report/compare.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace headroom {
namespace {

struct Options {
    Subject subject;
    std::string attention, context = "8k", batch;
};

// The option that holds a list; at most one may.
struct Axis {
    std::string name = "model";
    std::vector<std::string> values;
};

Axis find_axis(const Options& o, OptionFaults& faults) {
    Axis axis;
    const std::pair<const char*, const std::string*> lists[] = {
        {"attention", &o.attention},     {"model", &o.subject.model}, {"hw", &o.subject.hw},
        {"weights", &o.subject.weights}, {"kv", &o.subject.kv},       {"tp", &o.subject.tp}};
    for (const auto& [name, text] : lists) {
        if (text->find(',') == std::string::npos && std::string(name) != "attention") continue;
        if (text->empty()) continue;
        if (!axis.values.empty()) {
            faults.add(std::string("--") + name,
                       fmt::format("a second list beside --{}; one thing is varied at a time", axis.name));
            continue;
        }
        axis.name = name;
        axis.values = split_list(std::string("--") + name, *text, faults);
    }
    if (axis.values.empty()) axis.values = {o.subject.model};
    return axis;
}

CompareRow row_of(const Options& o, const Axis& axis, const std::string& value, std::int64_t context,
                  std::int64_t batch, OptionFaults& faults) {
    Subject subject = o.subject;
    if (axis.name == "model") subject.model = value;
    if (axis.name == "hw") subject.hw = value;
    if (axis.name == "weights") subject.weights = value;
    if (axis.name == "kv") subject.kv = value;
    if (axis.name == "tp") subject.tp = value;
    Question question = load_question(subject, faults);
    std::string note;
    if (axis.name == "attention") {
        const auto variant = attention_variant(value);
        if (!variant) {
            const std::vector<std::string> names{"mha", "gqa:8", "mqa", "mla"};
            faults.add("--attention", fmt::format("\"{}\" is none of mha, gqa:G, mqa, mla", value),
                       did_you_mean(value, names));
        } else if (const std::string fault = redraw_attention(question.model, *variant); !fault.empty()) {
            faults.add("--attention", fault);
        } else {
            note = removed_freedom(*variant);
        }
        faults.finish();
        for (const std::string& fault : deployment_faults(question.model, question.deployment))
            faults.add("", fault);
        faults.finish();
    }
    return compare_row(value, std::move(question), note, context, batch);
}

}  // namespace

Action add_compare(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    add_subject_options(app, o->subject);
    app.add_option("--attention", o->attention,
                   "redraw the model's attention: mha, gqa:G (G query heads share one), mqa, mla; a list");
    app.add_option("--context", o->context, "tokens that each sequence holds (default 8k)");
    app.add_option("--batch", o->batch, "sequences decoded together (default: the largest batch that fits)");
    app.footer(
        "One of --attention, --model, --hw, --weights, --kv and --tp holds a comma-separated list; ratios "
        "are to its first.");
    return [o] {
        OptionFaults faults;
        const Axis axis = find_axis(*o, faults);
        CompareAnswer answer;
        answer.axis = axis.name;
        answer.context = parse_one_count("--context", o->context, 1, 100000000, faults);
        answer.batch = o->batch.empty() ? 0 : parse_one_count("--batch", o->batch, 1, 1000000, faults);
        faults.finish();
        for (const std::string& value : axis.values) {
            answer.rows.push_back(row_of(*o, axis, value, answer.context, answer.batch, faults));
        }
        emit(report(answer), o->subject.output);
        return 0;
    };
}

}  // namespace headroom
