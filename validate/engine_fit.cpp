// SPDX-License-Identifier: Apache-2.0
#include "validate/engine_fit.h"

#include "base/diagnostic.h"
#include "validate/fit.h"

#include <algorithm>
#include <cmath>
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
    {"per_prompt", 0, 20 * milli, 5 * milli, milli, " ms", &EngineTime::per_prompt},
    {"overlap", 1, 8, 3, 1, "", nullptr},
};
const HostParameter kRequest{"per_request",           0, 200 * milli, 30 * milli, milli, " ms",
                             &EngineTime::per_request};

/// A parameter at the far end of its bounds counts like an error of 30 % in one run.
constexpr double kPull = 0.3;

double get(const Engine& e, const HostParameter& p) {
    return p.field != nullptr ? (e.time.*p.field).expected : e.time.overlap;
}

void set(Engine& e, const HostParameter& p, double value) {
    if (p.field != nullptr)
        (e.time.*p.field).expected = value;
    else
        e.time.overlap = value;
}

ServingTimes times(const ServedCase& c, const Engine& e) {
    return serving_times(*c.run, *c.model, *c.hardware, e);
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
void leave_one_out(const std::vector<ServedCase>& cases, const Engine& start,
                   const std::function<std::string(const ServingRun&)>& key, ErrorSummary& tpot,
                   ErrorSummary& ttft, std::vector<Engine>& fits) {
    std::set<std::string> values;
    for (const ServedCase& c : cases) values.insert(key(*c.run));
    if (values.size() < 2) return;
    std::vector<double> tpots, ttfts;
    for (const std::string& value : values) {
        std::vector<ServedCase> train, test;
        for (const ServedCase& c : cases) (key(*c.run) == value ? test : train).push_back(c);
        fits.push_back(fit_engine_time(train, start));
        append(tpots, tpot_errors(test, fits.back()));
        append(ttfts, ttft_errors(test, fits.back()));
    }
    tpot = summarise(std::move(tpots));
    ttft = summarise(std::move(ttfts));
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
    return text + fmt::format("  overlap: {:.3g}\n", e.time.overlap);
}

}  // namespace

Engine fit_engine_time(const std::vector<ServedCase>& cases, const Engine& start) {
    Engine engine = start;
    std::vector<FitParameter> parameters;
    for (const HostParameter& p : kHost)
        parameters.push_back({p.name, std::clamp(get(start, p), p.low, p.high), p.low, p.high});
    const Residuals residuals = [&](std::span<const double> values, std::span<double> out) {
        Engine now = engine;
        for (std::size_t i = 0; i < values.size(); ++i) set(now, kHost[i], values[i]);
        for (std::size_t i = 0; i < cases.size(); ++i)
            out[i] = std::log(times(cases[i], now).tpot.expected / cases[i].run->tpot);
        for (std::size_t i = 0; i < values.size(); ++i)
            out[cases.size() + i] = kPull * (values[i] - kHost[i].usual) / (kHost[i].high - kHost[i].low);
    };
    const std::vector<double> values = fit(parameters, static_cast<int>(cases.size() + parameters.size()),
                                           residuals, {.robust_scale = 0.05, .max_evaluations = 120});
    for (std::size_t i = 0; i < values.size(); ++i) set(engine, kHost[i], values[i]);

    // What TTFT has beyond the steps: the median keeps queues of single rows out.
    std::vector<double> beyond;
    Engine none = engine;
    none.time.per_request.expected = 0;
    for (const ServedCase& c : cases) {
        const ServingTimes t = times(c, none);
        if (!t.saturated) beyond.push_back((c.run->ttft - t.ttft.expected).base());
    }
    engine.time.per_request.expected = std::clamp(quantile_of(beyond, 0.5), kRequest.low, kRequest.high);
    return engine;
}

bool believable(const std::pair<int, int>& series) { return series.second <= kMostBelowFloor * series.first; }

EngineFitAnswer fit_engine(const std::string& name, const std::vector<ServingRun>& runs,
                           const Profiles& profiles) {
    std::map<std::string, Model> models;
    std::map<std::string, Hardware> devices;
    std::vector<ServedCase> cases;
    std::set<std::string> seen;
    std::map<std::string, std::pair<int, int>>
        series;  // runs of a version and model; those that beat the floor
    Engine start = profiles.engine(name);
    for (const HostParameter& p : kHost) set(start, p, p.usual);
    for (const ServingRun& run : runs) {
        const std::string key = fmt::format("{} {} {} {} {}", run.model, run.hardware, run.concurrency,
                                            run.tpot.base(), run.ttft.base());
        if (run.engine != name || run.disaggregated || !seen.insert(key).second) continue;
        if (run.ttft > run.output * run.tpot) continue;  // mostly waiting: see `doubt` in serving_cases.cpp
        const Model& model = models.try_emplace(run.model, profiles.model(run.model)).first->second;
        const Hardware& hardware =
            devices.try_emplace(run.hardware, profiles.hardware(run.hardware)).first->second;
        const ServedCase c{&run, &model, &hardware};
        ++series[run.version + run.model].first;
        if (run.tpot >= times(c, start).tpot.floor)
            cases.push_back(c);
        else
            ++series[run.version + run.model].second;
    }
    std::erase_if(cases,
                  [&](const ServedCase& c) { return !believable(series.at(c.run->version + c.run->model)); });
    if (cases.size() < 10) refuse(name, "", "has fewer than ten runs to fit to");
    EngineFitAnswer answer;
    answer.engine = name;
    answer.rows = static_cast<int>(cases.size());
    Engine fitted = fit_engine_time(cases, start);
    answer.tpot = summarise(tpot_errors(cases, fitted));
    answer.ttft = summarise(ttft_errors(cases, fitted));
    std::vector<Engine> fits{fitted};
    leave_one_out(
        cases, start, [](const ServingRun& r) { return r.model; }, answer.tpot_other_model,
        answer.ttft_other_model, fits);
    leave_one_out(
        cases, start, [](const ServingRun& r) { return r.hardware; }, answer.tpot_other_device,
        answer.ttft_other_device, fits);
    for (const HostParameter* p : {&kHost[0], &kHost[1], &kHost[2], &kRequest}) {
        Interval& i = fitted.time.*(p->field);
        i.low = i.high = i.expected;
        for (const Engine& e : fits) {
            i.low = std::min(i.low, get(e, *p));
            i.high = std::max(i.high, get(e, *p));
        }
        answer.parameters.push_back({p->name, i.low, i.expected, i.high});
    }
    answer.overlap = fitted.time.overlap;
    answer.yaml = yaml_of(fitted);
    return answer;
}

}  // namespace headroom
