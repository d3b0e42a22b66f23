// SPDX-License-Identifier: Apache-2.0
#include "answers/plan.h"

#include "base/units.h"
#include "cli/choices.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/pool_options.h"
#include "cli/workload_input.h"
#include "report/emit.h"
#include "report/plan.h"

#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace headroom {
namespace {

struct Options {
    Subject subject;
    WorkloadInput workload;
    std::string rate, ttft, itl, tpot, e2e, price, allow, emit, link, budgets;
    std::string percentile = "0.99", margin = "0.9", max_gpus = "4096", spare = "0", rank = "gpus";
    std::string pools = "off";
    bool no_verify = false;
};

// "h100-sxm=2.5/h,l4=0.8/h", or "2.5/h" for the one device that is asked about.
std::map<std::string, DollarRate> parse_prices(const Options& o, const std::vector<std::string>& devices,
                                               OptionFaults& faults) {
    std::map<std::string, DollarRate> prices;
    if (o.price.empty()) return prices;
    for (const std::string& part : split_list("--price", o.price, faults)) {
        const std::size_t equals = part.find('=');
        if (equals == std::string::npos && devices.size() > 1) {
            faults.add("--price", fmt::format("\"{}\" does not say of which device", part),
                       devices.front() + "=" + part);
            continue;
        }
        const std::string device = equals == std::string::npos ? devices.front() : part.substr(0, equals);
        std::string amount = equals == std::string::npos ? part : part.substr(equals + 1);
        if (std::find(devices.begin(), devices.end(), device) == devices.end())
            faults.add(
                "--price",
                fmt::format("is for \"{}\", but the device is \"{}\"", device, fmt::join(devices, ", ")),
                devices.front() + "=" + amount);
        const std::size_t slash = amount.find('/');
        if (slash == std::string::npos) {
            faults.add("--price", fmt::format("\"{}\" has no time; write an amount per hour", amount),
                       amount + "/h");
            continue;
        }
        if (amount.find("USD") == std::string::npos && amount.find('$') == std::string::npos)
            amount.insert(slash, " USD");
        prices[device] = parse_option<Dimension{.second = -1, .usd = 1}>("--price", amount, faults);
        if (prices[device] < DollarRate{}) faults.add("--price", "must not be negative");
    }
    return prices;
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
    const bool given = !(s.tp.empty() && s.pp.empty() && s.ep.empty() && s.dp.empty() && s.cp.empty());
    return given ? std::vector{q.deployment} : std::vector<Deployment>{};
}

// "bf16,fp8,fp8/fp8": weights, and KV where it differs from --kv.
std::vector<Variant> variants_of(const Options& o, const Question& q, OptionFaults& faults) {
    Model plain = load_model(o.subject.output, o.subject.model);
    plain.routing = q.model.routing;
    const auto variant = [&](const std::string& weights, const Model& model) {
        return Variant{weights, to_string(kv_format(model)), model,
                       !(linear_format(plain) == linear_format(model))};
    };
    if (o.allow.empty()) return {variant(q.echo.weights, q.model)};
    std::vector<Variant> all;
    for (const std::string& part : split_list("--allow", o.allow, faults)) {
        const std::size_t slash = part.find('/');
        const std::string weights = part.substr(0, slash);
        const std::string kv = slash == std::string::npos ? o.subject.kv : part.substr(slash + 1);
        all.push_back(variant(weights, with_speculation(with_precision(plain, weights, kv, faults, "--allow"),
                                                        o.subject.speculate, o.subject.output, faults)));
    }
    return all;
}

const Choices<RankBy> kRanks{{"gpus", RankBy::gpus}, {"cost", RankBy::cost}, {"power", RankBy::power}};

struct Roles {
    bool together, pools;
};
const Choices<Roles> kPools{{"off", {true, false}}, {"on", {true, true}}, {"only", {false, true}}};

Objectives objectives_of(const Options& o, OptionFaults& faults) {
    Objectives objectives;
    objectives.ttft = parse_objective("--ttft", o.ttft, faults);
    objectives.itl = parse_objective("--itl", o.itl, faults);
    objectives.tpot = parse_objective("--tpot", o.tpot, faults);
    objectives.e2e = parse_objective("--e2e", o.e2e, faults);
    objectives.percentile = parse_plain("--p", o.percentile, 0.5, 0.9999, faults);
    objectives.margin = parse_plain("--margin", o.margin, 0.01, 0.999, faults);
    objectives.max_gpus = static_cast<int>(parse_one_count("--max-gpus", o.max_gpus, 1, 1000000, faults));
    objectives.spare = static_cast<int>(parse_one_count("--spare", o.spare, 0, 1000, faults));
    objectives.rank = choose("--rank", o.rank, kRanks, faults);
    if (objectives.rank == RankBy::cost && o.price.empty()) faults.add("--rank", "cost needs --price");
    return objectives;
}

void add_plan_options(CLI::App& app, Options& o) {
    add_subject_options(app, o.subject);
    add_workload_options(app, o.workload);
    app.add_option(
        "--rate", o.rate,
        "requests per second (8/s), or a multiple of the workload's own (2x; default 1x); a list answers "
        "for each");
    app.add_option("--ttft", o.ttft, "objective on the time to the first token, e.g. 500ms");
    app.add_option("--itl", o.itl, "objective on the gap between tokens, e.g. 50ms");
    app.add_option("--tpot", o.tpot, "objective on a request's mean gap between tokens, e.g. 50ms");
    app.add_option("--e2e", o.e2e, "objective on the time to the last token, e.g. 10s");
    app.add_option("--p", o.percentile, "percentile that the objectives hold at (default 0.99)");
    app.add_option("--margin", o.margin,
                   "share of its sustainable rate that a replica may be loaded to (default 0.9)");
    app.add_option("--price", o.price, "of one GPU, e.g. h100-sxm=2.5/h in USD; a list for several devices");
    app.add_option("--rank", o.rank, "what to buy least of: " + help_of(kRanks));
    app.add_option("--max-gpus", o.max_gpus, "GPUs that may be bought (default 4096)");
    app.add_option("--spare", o.spare, "replicas in each pool that may fail (default 0)");
    app.add_option(
        "--allow", o.allow,
        "precisions that may be chosen: weights, or weights/KV; e.g. bf16,fp8,fp8/fp8 (default: as given)");
    app.add_option("--pools", o.pools,
                   "prefill and decode pools: " + help_of(kPools) + "; on: beside replicas that do both");
    add_link_option(app, o.link);
    app.add_option("--token-budget", o.budgets,
                   "tokens that a step may carry (max_num_batched_tokens), a list to try each (default: the "
                   "engine's own, and less where gaps have an objective)");
    app.add_option("--emit", o.emit, "print the plan as start-up commands: " + listed(emit_targets()));
    app.add_flag("--no-verify", o.no_verify, "do not simulate the best candidate");
}

// Where a person is looking.
std::function<void(std::size_t, std::size_t)> progress_on_terminal() {
    if (isatty(STDERR_FILENO) == 0) return {};
    return [](std::size_t done, std::size_t all) {
        if (done % 16 == 0 || done == all) fmt::print(stderr, "\r{} of {} candidates", done, all);
        if (done == all) fmt::print(stderr, "\r\033[K");
    };
}

std::vector<Frequency> rates_of(const Options& o, const WorkloadSummary& workload, OptionFaults& faults) {
    std::vector<Frequency> rates;
    for (const std::string& part : split_list("--rate", o.rate.empty() ? "1x" : o.rate, faults)) {
        std::optional<Frequency> rate;
        double scale = 1;
        parse_rate("--rate", part, rate, scale, faults);
        if (!rate && workload.rate <= Frequency{})
            faults.add("--workload",
                       "\"" + o.workload.name + "\" has no rate: too few arrivals; give --rate");
        rates.push_back(rate.value_or(scale * workload.rate));
    }
    return rates;
}

int run(const Options& given) {
    Options o = given;
    OptionFaults faults;
    PlanQuestion q;
    q.objectives = objectives_of(o, faults);
    const std::vector<std::string> devices = split_list("--hw", o.subject.hw, faults);
    if (devices.empty()) faults.finish();  // says that --hw is empty
    o.subject.hw = devices.front();
    const auto prices = parse_prices(o, devices, faults);
    const Roles roles = choose("--pools", o.pools, kPools, faults);
    q.pools = roles.pools;
    q.together = roles.together;
    q.link = parse_link(o.link, faults);
    if (!o.budgets.empty()) q.budgets = parse_counts("--token-budget", o.budgets, 1, 1'000'000, faults);
    const auto engines = emit_targets();
    if (!o.emit.empty() && std::find(engines.begin(), engines.end(), o.emit) == engines.end())
        refuse_choice("--emit", o.emit, engines, faults);
    const auto traffic = open_workload(o.workload, o.subject.output, faults);
    const auto workload = traffic ? load_workload(o.workload, o.subject.output, faults) : std::nullopt;
    if (workload) q.rates = rates_of(o, *workload, faults);
    q.question = load_question(o.subject, faults, true);
    if (!o.emit.empty() && q.question.deployment.cp > 1)
        faults.add("--emit",
                   "no engine cuts prompts and cache over GPUs as --cp does; leave one of them out");
    q.question.echo.workload = o.workload.name;
    q.question.echo.hw = given.subject.hw;
    for (const std::string& device : devices) {
        const auto price = prices.find(device);
        q.offers.push_back({load_hardware(o.subject.output, device),
                            price == prices.end() ? std::nullopt : std::optional(price->second)});
    }
    q.variants = variants_of(o, q.question, faults);
    faults.finish();
    q.workload = *workload;
    q.deployments = wanted_deployments(q.question, o.subject);
    q.verify = !o.no_verify;
    q.requests = [&traffic] { return traffic->open(); };
    q.progress = progress_on_terminal();
    const PlanAnswer answer = plan(q);
    emit(report(answer, o.emit), o.subject.output);
    return answer.plan.verdict == Verdict::ok ? 0 : 1;
}

}  // namespace

Action add_plan(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    add_plan_options(app, *o);
    return [o] { return run(*o); };
}

}  // namespace headroom
