// SPDX-License-Identifier: Apache-2.0
#include "validate/engine_fit.h"

#include "base/diagnostic.h"
#include "validate/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

namespace headroom {
namespace {

/// `usual` is where a parameter stays that the runs say nothing of (a weak pull: see kPull).
struct HostParameter {
    const char* name;
    double low;
    double high;
    double usual;
    double unit;
    const char* unit_name;
    Interval EngineTime::*field;  ///< nullptr: the overlap
};

constexpr double milli = 1e-3;
constexpr double micro = 1e-6;

const HostParameter kHost[] = {
    {"per_step", 0, 5 * milli, 1 * milli, milli, " ms", &EngineTime::per_step},
    {"per_sequence", 0, 50 * micro, 25 * micro, micro, " us", &EngineTime::per_sequence},
    {"per_prompt", 0, 5 * milli, 1 * milli, milli, " ms", &EngineTime::per_prompt},
    {"overlap", 1, 8, 3, 1, "", nullptr},
};
const HostParameter kRequest{"per_request",           0, 200 * milli, 30 * milli, milli, " ms",
                             &EngineTime::per_request};

/// Between engines a host time differs by about a fifth of its bounds, and a run is predicted to about a
/// tenth. So a parameter at the far end of its bounds from the centre counts like an error of 0.1 / 0.2 in
/// one independent run.
constexpr double kPull = 0.5;
/// What several engines have in common is pulled to the usual much less.
constexpr double kPooledPull = 0.3;
/// Runs that a pool is thinned to.
constexpr std::size_t kPooledRuns = 160;

double get(const EngineTime& t, const HostParameter& p) {
    return p.field != nullptr ? (t.*p.field).expected : t.overlap;
}

void set(EngineTime& t, const HostParameter& p, double value) {
    if (p.field != nullptr)
        (t.*p.field).expected = value;
    else
        t.overlap = value;
}

ServingTimes times(const ServedCase& c, const Engine& e) {
    return serving_times(*c.run, *c.model, *c.hardware, e);
}

/// Runs of one engine, model and device err together: n of them count as the root of n.
std::vector<double> weights_of(const std::vector<ServedCase>& cases) {
    const auto cluster = [](const ServedCase& c) {
        return c.run->engine + c.run->version + c.run->model + c.run->hardware;
    };
    std::map<std::string, int> sizes;
    for (const ServedCase& c : cases) ++sizes[cluster(c)];
    std::vector<double> weights;
    for (const ServedCase& c : cases) weights.push_back(std::pow(sizes.at(cluster(c)), -0.25));
    return weights;
}

/// A run with the device's part of its steps, which no host time changes.
struct Prepared {
    IterationBatches batches;
    Seconds plain;
    Seconds with_prompt;
    Seconds measured;
};

std::vector<Prepared> prepared(const std::vector<ServedCase>& cases) {
    std::vector<Prepared> all;
    for (const ServedCase& c : cases) {
        const Engine bare = without_host(served_engine(*c.run, *c.engine));
        const ServedLoad s = served_load(*c.run, *c.model, *c.hardware, bare);
        const auto device = [&](const Batch& batch) {
            return step_time(s.parts, batch, *c.hardware, bare).time.expected;
        };
        const IterationBatches batches = iteration_batches(s.parts, *c.hardware, bare, s.load, s.batch);
        all.push_back({batches, device(batches.plain), device(batches.with_prompt), c.run->tpot});
    }
    return all;
}

Seconds tpot(const Prepared& p, const Engine& e) {
    const double share = p.batches.share;
    return (1 - share) * with_host(p.plain, p.batches.plain, e) +
           share * with_host(p.with_prompt, p.batches.with_prompt, e);
}

/// Values of kHost that fit the runs' TPOT, each engine with its own memory and scheduler.
std::vector<double> host_values(const std::vector<ServedCase>& cases, const EngineTime& start,
                                const EngineTime& centre, double pull) {
    std::vector<FitParameter> parameters;
    for (const HostParameter& p : kHost)
        parameters.push_back({p.name, std::clamp(get(start, p), p.low, p.high), p.low, p.high});
    const std::vector<double> weights = weights_of(cases);
    const std::vector<Prepared> runs = prepared(cases);
    Engine now;
    const Residuals residuals = [&](std::span<const double> values, std::span<double> out) {
        for (std::size_t k = 0; k < values.size(); ++k) set(now.time, kHost[k], values[k]);
        for (std::size_t i = 0; i < runs.size(); ++i)
            out[i] = weights[i] * std::log(tpot(runs[i], now) / runs[i].measured);
        for (std::size_t k = 0; k < values.size(); ++k)
            out[runs.size() + k] =
                pull * (values[k] - get(centre, kHost[k])) / (kHost[k].high - kHost[k].low);
    };
    return fit(parameters, static_cast<int>(cases.size() + parameters.size()), residuals,
               {.robust_scale = 0.05, .max_evaluations = 120});
}

std::vector<double> tpot_errors(const std::vector<ServedCase>& cases, const Engine& e) {
    std::vector<double> errors;
    for (const ServedCase& c : cases) errors.push_back(times(c, e).tpot.expected / c.run->tpot - 1);
    return errors;
}

std::vector<double> ttft_errors(const std::vector<ServedCase>& cases, const Engine& e) {
    std::vector<double> errors;
    for (const ServedCase& c : cases) {
        const ServingTimes t = times(c, e);
        if (!t.saturated) errors.push_back(t.ttft.expected / c.run->ttft - 1);
    }
    return errors;
}

void append(std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

/// Fits without each value of `key`, errors on the rows that have it.
UnseenErrors leave_one_out(const std::vector<ServedCase>& cases, const std::vector<ServedCase>& others,
                           const Engine& start, const std::function<std::string(const ServingRun&)>& key,
                           std::vector<Engine>& fits) {
    std::set<std::string> values;
    for (const ServedCase& c : cases) values.insert(key(*c.run));
    UnseenErrors errors;
    if (values.size() < 2) return errors;
    for (const std::string& value : values) {
        std::vector<ServedCase> train, test, pool;
        for (const ServedCase& c : cases) (key(*c.run) == value ? test : train).push_back(c);
        for (const ServedCase& c : others) {
            if (key(*c.run) != value) pool.push_back(c);
        }
        fits.push_back(fit_engine_time(train, start, pooled_time(pool)));
        append(errors.tpot, tpot_errors(test, fits.back()));
        append(errors.ttft, ttft_errors(test, fits.back()));
    }
    return errors;
}

/// Measured over predicted, of which nine in ten of these errors lie between the ends.
Interval nine_in_ten(const std::vector<double>& errors, const std::string& source) {
    std::vector<double> ratios;
    for (const double e : errors) ratios.push_back(1 / (1 + e));
    return {std::min(1.0, quantile_of(ratios, 0.05)), 1, std::max(1.0, quantile_of(ratios, 0.95)), source};
}

bool believable(const std::pair<int, int>& series) { return series.second <= kMostBelowFloor * series.first; }

/// What runs name, each loaded once.
struct Loaded {
    std::map<std::string, Model> models;
    std::map<std::string, Hardware> devices;
    std::map<std::string, Engine> engines;  ///< with the usual host times
};

/// The runs that can be fitted to: co-located, listed once, not mostly waiting, of a series that is believed
/// and not below their floor. `name` must be an engine; of other engines what is not known is left out.
std::vector<ServedCase> usable(const std::vector<ServingRun>& runs, const Profiles& profiles,
                               const std::string& name, Loaded& loaded) {
    std::vector<ServedCase> cases;
    std::set<std::string> seen;
    std::map<std::string, std::pair<int, int>>
        series;  // runs of an engine, version and model; those that beat the floor
    const auto series_of = [](const ServingRun& r) { return r.engine + r.version + r.model; };
    const auto engine_of = [&](const std::string& engine) {
        Engine e = profiles.engine(engine);
        const EngineTime usual = usual_time();
        for (const HostParameter& p : kHost) set(e.time, p, get(usual, p));
        return e;
    };
    loaded.engines.emplace(name, engine_of(name));
    for (const ServingRun& run : runs) {
        const std::string key = fmt::format("{} {} {} {} {} {}", run.engine, run.model, run.hardware,
                                            run.concurrency, run.tpot.base(), run.ttft.base());
        if (run.disaggregated || !seen.insert(key).second) continue;
        if (run.ttft > run.output * run.tpot) continue;  // mostly waiting: see `doubt` in serving_cases.cpp
        try {
            if (loaded.models.count(run.model) == 0)
                loaded.models.emplace(run.model, profiles.model(run.model));
            if (loaded.devices.count(run.hardware) == 0)
                loaded.devices.emplace(run.hardware, profiles.hardware(run.hardware));
            if (loaded.engines.count(run.engine) == 0)
                loaded.engines.emplace(run.engine, engine_of(run.engine));
        } catch (const InputError&) {
            if (run.engine == name) throw;
            continue;
        }
        const ServedCase c{&run, &loaded.models.at(run.model), &loaded.devices.at(run.hardware),
                           &loaded.engines.at(run.engine)};
        auto& [rows, beaten] = series[series_of(run)];
        ++rows;
        if (run.tpot >= times(c, *c.engine).tpot.floor)
            cases.push_back(c);
        else
            ++beaten;
    }
    std::erase_if(cases, [&](const ServedCase& c) { return !believable(series.at(series_of(*c.run))); });
    return cases;
}

double weighted_median(std::vector<std::pair<double, double>> values) {
    std::sort(values.begin(), values.end());
    double left = 0;
    for (const auto& [value, weight] : values) left += weight / 2;
    for (const auto& [value, weight] : values) {
        left -= weight;
        if (left <= 0) return value;
    }
    return 0;
}

/// The time of a request outside its steps that gives the least mean error of TTFT, and that error.
std::pair<double, double> best_request(const Engine& engine, const std::vector<ServedCase>& cases) {
    Engine none = engine;
    none.time.per_request.expected = 0;
    std::vector<std::pair<double, double>> beyond;
    for (const ServedCase& c : cases) {
        const ServingTimes t = times(c, none);
        if (!t.saturated) beyond.emplace_back((c.run->ttft - t.ttft.expected).base(), 1 / c.run->ttft.base());
    }
    const double request = std::clamp(weighted_median(beyond), kRequest.low, kRequest.high);
    double error = 0;
    for (const auto& [value, weight] : beyond) error += weight * std::abs(value - request);
    return {request, error / std::max(1.0, static_cast<double>(beyond.size()))};
}

/// What a prompt's steps take beyond their kernels, by grid: the least mean error of TTFT.
void fit_first_token(Engine& engine, const std::vector<ServedCase>& cases) {
    double least = std::numeric_limits<double>::infinity();
    Engine best = engine;
    for (const double stretch : {1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6}) {
        for (const double layer : {0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0}) {
            engine.time.prompt_stretch = stretch;
            engine.time.per_expert_layer = layer * milli;
            const auto [request, error] = best_request(engine, cases);
            engine.time.per_request.expected = request;
            if (error < least - 1e-9) best = engine;
            least = std::min(least, error);
        }
    }
    engine = best;
}

/// What is too small to matter is nothing.
double tidy(double value) { return std::abs(value) < 1e-3 ? 0 : value; }

std::string yaml_of(const Engine& e) {
    std::string text = "time:\n";
    const auto line = [&](const HostParameter& p) {
        const Interval& i = e.time.*p.field;
        text += fmt::format("  {}: {{low: {:.4g}{u}, expected: {:.4g}{u}, high: {:.4g}{u}, source: runs}}\n",
                            p.name, tidy(i.low / p.unit), tidy(i.expected / p.unit), tidy(i.high / p.unit),
                            fmt::arg("u", p.unit_name));
    };
    for (const HostParameter& p : kHost) {
        if (p.field != nullptr) line(p);
    }
    line(kRequest);
    text += fmt::format("  prompt_stretch: {:.3g}\n  per_expert_layer: {:.3g} ms\n", e.time.prompt_stretch,
                        e.time.per_expert_layer / milli);
    if (const auto& t = e.time.first_token)
        text += fmt::format("  first_token: {{low: {:.3g}, expected: 1, high: {:.3g}, source: runs}}\n",
                            t->low, t->high);
    return text + fmt::format("  overlap: {:.3g}\n", e.time.overlap);
}

}  // namespace

EngineTime usual_time() {
    EngineTime t;
    for (const HostParameter& p : kHost) set(t, p, p.usual);
    set(t, kRequest, kRequest.usual);
    return t;
}

EngineTime pooled_time(const std::vector<ServedCase>& cases) {
    EngineTime t = usual_time();
    if (cases.empty()) return t;
    std::vector<ServedCase> used;
    const std::size_t stride = std::max<std::size_t>(1, cases.size() / kPooledRuns);
    for (std::size_t i = 0; i < cases.size(); i += stride) used.push_back(cases[i]);
    const std::vector<double> values = host_values(used, t, t, kPooledPull);
    for (std::size_t k = 0; k < values.size(); ++k) set(t, kHost[k], values[k]);
    return t;
}

Engine fit_engine_time(const std::vector<ServedCase>& cases, const Engine& start, const EngineTime& centre) {
    Engine engine = start;
    std::vector<ServedCase> own = cases;
    for (ServedCase& c : own) c.engine = &start;
    const std::vector<double> values = host_values(own, centre, centre, kPull);
    for (std::size_t k = 0; k < values.size(); ++k) set(engine.time, kHost[k], values[k]);

    fit_first_token(engine, cases);
    return engine;
}

EngineFitAnswer fit_engine(const std::string& name, const std::vector<ServingRun>& runs,
                           const Profiles& profiles) {
    Loaded loaded;
    const std::vector<ServedCase> all = usable(runs, profiles, name, loaded);
    std::vector<ServedCase> cases, others;
    for (const ServedCase& c : all) (c.run->engine == name ? cases : others).push_back(c);
    const Engine& start = loaded.engines.at(name);
    if (cases.size() < 10) refuse(name, "", "has fewer than ten runs to fit to");
    EngineFitAnswer answer;
    answer.engine = name;
    answer.rows = static_cast<int>(cases.size());
    Engine fitted = fit_engine_time(cases, start, pooled_time(others));
    answer.tpot = summarise(tpot_errors(cases, fitted));
    answer.ttft = summarise(ttft_errors(cases, fitted));
    std::vector<Engine> fits{fitted};
    answer.other_model = leave_one_out(
        cases, others, start, [](const ServingRun& r) { return r.model; }, fits);
    answer.other_device = leave_one_out(
        cases, others, start, [](const ServingRun& r) { return r.hardware; }, fits);
    answer.tpot_other_model = summarise(answer.other_model.tpot);
    answer.ttft_other_model = summarise(answer.other_model.ttft);
    answer.tpot_other_device = summarise(answer.other_device.tpot);
    answer.ttft_other_device = summarise(answer.other_device.ttft);
    std::vector<double> unseen = answer.other_model.ttft;
    append(unseen, answer.other_device.ttft);
    if (unseen.empty()) unseen = ttft_errors(cases, fitted);
    fitted.time.first_token = nine_in_ten(unseen, "runs");
    for (const HostParameter* p : {&kHost[0], &kHost[1], &kHost[2], &kRequest}) {
        Interval& i = fitted.time.*(p->field);
        i.low = i.high = i.expected;
        for (const Engine& e : fits) {
            i.low = std::min(i.low, get(e.time, *p));
            i.high = std::max(i.high, get(e.time, *p));
        }
        answer.parameters.push_back({p->name, i.low, i.expected, i.high});
    }
    answer.overlap = fitted.time.overlap;
    answer.yaml = yaml_of(fitted);
    return answer;
}

}  // namespace headroom
