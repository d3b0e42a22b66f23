// SPDX-License-Identifier: Apache-2.0
#include "answers/plan.h"

#include "base/units.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/workload_input.h"
#include "report/plan.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace headroom {
namespace {

struct Options {
    Subject subject;
    WorkloadInput workload;
    std::string rate, ttft, itl, price;
    std::string percentile = "0.99", margin = "0.9", max_gpus = "4096";
};

// "h100-sxm=2.5/h", or "2.5/h" for whatever device is asked about.
std::optional<DollarRate> parse_price(const Options& o, OptionFaults& faults) {
    if (o.price.empty()) return std::nullopt;
    const std::size_t equals = o.price.find('=');
    const std::string device = equals == std::string::npos ? o.subject.hw : o.price.substr(0, equals);
    std::string amount = equals == std::string::npos ? o.price : o.price.substr(equals + 1);
    if (device != o.subject.hw)
        faults.add("--price", fmt::format("is for \"{}\", but the device is \"{}\"", device, o.subject.hw),
                   o.subject.hw + "=" + amount);
    const std::size_t slash = amount.find('/');
    if (slash == std::string::npos) {
        faults.add("--price", fmt::format("\"{}\" has no time; write an amount per hour", amount),
                   amount + "/h");
        return std::nullopt;
    }
    if (amount.find("USD") == std::string::npos && amount.find('$') == std::string::npos)
        amount.insert(slash, " USD");
    return parse_option<Dimension{.second = -1, .usd = 1}>("--price", amount, faults);
}

std::optional<Seconds> parse_objective(const char* option, const std::string& text, OptionFaults& faults) {
    if (text.empty()) return std::nullopt;
    const auto parsed = parse_quantity(text, {.second = 1});
    if (const auto* bad = std::get_if<ParseFault>(&parsed)) {
        faults.add(option, bad->message, bad->suggestion);
    } else if (std::get<double>(parsed) <= 0) {
        faults.add(option, "must be above zero");
    } else {
        return Seconds(std::get<double>(parsed));
    }
    return std::nullopt;
}

// A degree that was given is kept; when none was, all are searched.
std::vector<Deployment> wanted_deployments(const Question& q, const Subject& s) {
    const bool given = !(s.tp.empty() && s.pp.empty() && s.ep.empty() && s.dp.empty());
    return given ? std::vector{q.deployment} : std::vector<Deployment>{};
}

}  // namespace

Action add_plan(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    add_subject_options(app, o->subject);
    add_workload_options(app, o->workload);
    app.add_option("--rate", o->rate,
                   "requests per second (8/s), or a multiple of the workload's own (2x; default 1x)");
    app.add_option("--ttft", o->ttft, "objective on the time to the first token, e.g. 500ms");
    app.add_option("--itl", o->itl, "objective on the gap between tokens, e.g. 50ms");
    app.add_option("--p", o->percentile, "percentile that the objectives hold at (default 0.99)");
    app.add_option("--margin", o->margin,
                   "share of its sustainable rate that a replica may be loaded to (default 0.9)");
    app.add_option("--price", o->price, "of one GPU, e.g. h100-sxm=2.5/h in USD");
    app.add_option("--max-gpus", o->max_gpus, "GPUs that may be bought (default 4096)");
    return [o] {
        OptionFaults faults;
        Objectives objectives;
        objectives.ttft = parse_objective("--ttft", o->ttft, faults);
        objectives.itl = parse_objective("--itl", o->itl, faults);
        objectives.percentile = parse_plain("--p", o->percentile, 0.5, 0.9999, faults);
        objectives.margin = parse_plain("--margin", o->margin, 0.01, 0.999, faults);
        objectives.max_gpus =
            static_cast<int>(parse_one_count("--max-gpus", o->max_gpus, 1, 1000000, faults));
        std::optional<Frequency> rate;
        double scale = 1;
        parse_rate("--rate", o->rate, rate, scale, faults);
        const auto price = parse_price(*o, faults);
        const auto workload = load_workload(o->workload, o->subject.output, faults);
        if (workload && !rate && workload->rate <= Frequency{}) {
            faults.add("--workload",
                       "\"" + o->workload.name + "\" has no rate: too few arrivals; give --rate");
        }
        Question question = load_question(o->subject, faults);
        question.echo.workload = o->workload.name;
        const PlanAnswer answer = plan(question, *workload, objectives, rate, scale, price,
                                       wanted_deployments(question, o->subject));
        emit(report(answer), o->subject.output);
        return answer.plan.verdict == Verdict::ok ? 0 : 1;
    };
}

}  // namespace headroom
