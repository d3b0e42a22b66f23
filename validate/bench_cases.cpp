// SPDX-License-Identifier: Apache-2.0
#include "validate/bench_cases.h"

#include "base/diagnostic.h"
#include "ops/shard.h"
#include "perf/step_time.h"
#include "spec/engine_version.h"
#include "validate/gguf.h"
#include "validate/published_rates.h"
#include "validate/serving_cases.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headroom {
namespace {

/// Everything that a prediction needs, from the file or from options.
struct Subjects {
    Model model;
    Hardware hardware;
    Engine engine;
    Deployment deployment;
};

/// Takes what the file tells, else the option; notes the options that are missing.
struct Resolver {
    const Profiles& profiles;
    const std::string& file;
    std::vector<Diagnostic> faults;

    void missing(const std::string& option, const std::string& message) {
        faults.push_back({{file, 0, 0}, option, message, ""});
    }
    template <class T>
    std::optional<T> load(const std::function<T(const std::string&)>& from, const std::string& name) {
        try {
            return from(name);
        } catch (const InputError& e) {
            faults.insert(faults.end(), e.diagnostics().begin(), e.diagnostics().end());
            return std::nullopt;
        }
    }

    std::optional<Model> model(const BenchResult& r) {
        if (!profiles.forced_model.empty()) return load(profiles.model, profiles.forced_model);
        if (r.model.empty()) {
            missing("--model", fmt::format("the {} result names no model", r.program));
            return std::nullopt;
        }
        try {
            return profiles.model(catalogue_name(r.model));
        } catch (const InputError&) {
            missing("--model", fmt::format("is needed: \"{}\" is no name in models/", r.model));
            return std::nullopt;
        }
    }
    std::optional<Hardware> hardware(const BenchResult& r) {
        if (!profiles.forced_hardware.empty()) return load(profiles.hardware, profiles.forced_hardware);
        if (r.device.empty()) {
            missing("--hw", fmt::format("is needed: the {} result names no device", r.program));
            return std::nullopt;
        }
        try {
            return profiles.hardware(device_profile(r.device, file));
        } catch (const InputError&) {
            missing("--hw", fmt::format("is needed: \"{}\" is no device known here", r.device));
            return std::nullopt;
        }
    }
    std::optional<Engine> engine(const BenchResult& r) {
        std::string name = profiles.forced_engine;
        if (name.empty() && r.single) name = "ideal";
        if (name.empty()) name = r.engine;
        if (name == "vllm" && !r.version.empty() && profiles.engine_versions) {
            const std::string found = profile_not_later(r.version, profiles.engine_versions());
            if (!found.empty()) name = found;
        }
        if (name.empty()) {
            missing("--engine", fmt::format("is needed: the {} result names no serving engine", r.program));
            return std::nullopt;
        }
        return load(profiles.engine, name);
    }
};

Deployment deployment_of(const BenchResult& r, const Profiles& profiles) {
    Deployment d = profiles.deployment.value_or(Deployment{});
    if (profiles.deployment) return d;
    if (r.tp > 0) d.tp = r.tp;
    if (r.pp > 0) d.pp = r.pp;
    if (r.ep > 0) d.ep = r.ep;
    if (r.dp > 0) d.dp = r.dp;
    return d;
}

Subjects resolve(const BenchResult& r, const std::string& file, const Profiles& profiles) {
    Resolver with{profiles, file, {}};
    auto model = with.model(r);
    auto hardware = with.hardware(r);
    auto engine = with.engine(r);
    if (r.concurrency <= 0 && profiles.concurrency <= 0)
        with.missing("--concurrency", fmt::format("is needed: the {} result does not say how many requests "
                                                  "were in flight",
                                                  r.program));
    const Deployment deployment = deployment_of(r, profiles);
    if (model) {
        for (const std::string& fault : deployment_faults(*model, deployment)) with.missing("", fault);
    }
    if (!with.faults.empty()) throw InputError(with.faults);
    Subjects s{std::move(*model), std::move(*hardware), std::move(*engine), deployment};
    if (r.single && !r.weights.empty() && profiles.weights.empty())
        s.model = with_gguf(std::move(s.model), r.weights);
    return s;
}

struct Adding {
    ValidateAnswer& answer;
    const BenchResult& result;
    std::string subject;  ///< engine and model

    void add(const std::string& what, const TimeEstimate& predicted, Seconds measured, double tokens,
             const std::string& doubt, const std::string& floor_reason) const {
        if (measured <= Seconds()) return;
        MeasuredCase c;
        c.name = fmt::format("{} {} {}", result.program, subject, what);
        c.group = fmt::format("{} {}", subject, what);
        c.where = result.where;
        c.predicted = predicted;
        c.measured = measured;
        c.tokens = tokens;
        c.error = predicted.expected / measured - 1;
        c.not_counted = doubt;
        if (measured < predicted.floor) c.refused = "faster than its floor: " + floor_reason;
        answer.cases.push_back(std::move(c));
    }
};

void add_served(ValidateAnswer& answer, const BenchResult& r, const Subjects& s, const Profiles& profiles) {
    ServingRun run;
    run.engine = s.engine.name;
    run.model = s.model.name;
    run.hardware = s.hardware.name;
    run.weights = profiles.weights.empty() ? r.weights : profiles.weights;
    run.kv = profiles.kv.empty() ? r.kv : profiles.kv;
    run.input = std::max(1.0, r.input);
    run.output = std::max(1.0, r.output);
    run.concurrency = profiles.concurrency > 0 ? profiles.concurrency : r.concurrency;
    run.deployment = s.deployment;
    const ServingTimes t = serving_times(run, s.model, s.hardware, s.engine);
    const Adding to{answer, r, fmt::format("{} {}", s.engine.name, s.model.name)};
    const std::string reason =
        "another model, parallelism or weight format than said, a prefix cache, guessed tokens, or early "
        "ends";
    std::string waiting = r.doubt;
    if (waiting.empty() && t.saturated) waiting = "above saturation: prompts wait for room";
    if (waiting.empty() && r.burst) waiting = "all requests were sent at once: TTFT is mostly waiting";
    to.add("TTFT", t.ttft, r.ttft, 0, waiting, reason);
    to.add("TPOT", t.tpot, r.tpot, 0, r.doubt, reason);
    to.add("ITL", t.tpot, r.itl, 0, r.doubt, reason);
    if (r.output_rate <= 0) return;
    // Fewer rounds of requests than these leave the run to its start and end, with part of the batch idle.
    constexpr double kRounds = 3;
    std::string idle = r.doubt;
    if (idle.empty() && r.requests > 0 && r.requests < kRounds * t.batch)
        idle = fmt::format(
            "{:g} requests are less than {:g} rounds of the batch: start and end outweigh the "
            "steady part",
            r.requests, kRounds);
    to.add("throughput", (1 / t.batch) * t.tpot, Seconds(1 / r.output_rate), 1, idle, reason);
}

/// `law`: as llama.cpp decodes; else as the engine profile says.
void add_single(ValidateAnswer& answer, const BenchResult& r, const Subjects& s, bool law) {
    const Shard parts = shard(s.model, s.deployment);
    const Adding to{
        answer, r,
        fmt::format("{} {}{}", s.engine.name, s.model.name, r.weights.empty() ? "" : " " + r.weights)};
    TimeEstimate t;
    if (r.input > 0) t += llama_cpp_prompt(parts, s.hardware, s.engine, r.input, r.depth, r.ubatch);
    // A step in the middle stands for all: its time is all but linear in the context.
    if (r.output > 0) {
        const double context = r.depth + r.input + r.output / 2;
        t += r.output *
             (law ? single_stream_time(llama_cpp_law(), s.model, parts, s.hardware, s.engine, context)
                  : step_time(parts, decode_batch(1, context), s.hardware, s.engine).time);
    }
    const double tokens = r.input + r.output;
    std::string what = r.input > 0 ? fmt::format("pp{:g}", r.input) : "";
    if (r.output > 0) what += fmt::format("{}tg{:g}", what.empty() ? "" : "+", r.output);
    if (r.depth > 0) what += fmt::format(" @ d{:g}", r.depth);
    std::string doubt = r.doubt;
    if (doubt.empty() && law && r.input > 0) doubt = kPromptsNotModelled;
    to.add(what, t, Seconds(r.rate > 0 ? tokens / r.rate : 0), tokens, doubt,
           "another device, model or weight format than said");
}

}  // namespace

void add_bench(ValidateAnswer& answer, const std::vector<BenchResult>& results, const std::string& file,
               const Profiles& profiles) {
    bool told = false;
    for (const BenchResult& r : results) {
        const Subjects s = resolve(r, file, profiles);
        if (!told && !profiles.deployment && r.tp == 0) {
            answer.notes.push_back(fmt::format(
                "{}: the {} result does not say over how many GPUs; one is taken (--tp)", file, r.program));
            told = true;
        }
        if (r.single)
            add_single(answer, r, s, profiles.forced_engine.empty());
        else
            add_served(answer, r, s, profiles);
    }
}

}  // namespace headroom
