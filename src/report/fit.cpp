// SPDX-License-Identifier: Apache-2.0
#include "report/fit.h"

#include "base/units.h"

#include <fmt/core.h>

namespace headroom {
namespace {

Json errors_json(const ErrorSummary& s) {
    return {{"cases", s.rows},
            {"mean_abs_error", s.mean_abs},
            {"median_abs_error", s.median_abs},
            {"p95_abs_error", s.p95_abs},
            {"bias", s.bias}};
}

Json group_json(const FittedGroup& g) {
    Json j = {{"group", g.group}, {"spread", g.spread}};
    j["train"] = errors_json(g.train);
    j["test"] = errors_json(g.test);
    if (g.other.rows > 0) j["other_device"] = errors_json(g.other);
    j["parameters"] = Json::array();
    for (const FittedParameter& p : g.parameters) {
        j["parameters"].push_back({{"name", p.name},
                                   {"value", p.value},
                                   {"start", p.start},
                                   {"test_error_when_20_percent_off", p.error_when_off},
                                   {"meaning", p.meaning}});
    }
    return j;
}

std::string value_text(double base, const std::string& unit) {
    if (unit == "us") return fmt::format("{:.4g} us", base * 1e6);
    if (unit == "GB/s") return fmt::format("{:.4g} GB/s", base / 1e9);
    if (unit == "TB/s") return fmt::format("{:.4g} TB/s", base / 1e12);
    return fmt::format("{:.4g}", base);
}

std::string text_of(const FitAnswer& a) {
    std::string text = fmt::format(
        "ceilings of {}; reachable share of the memory bandwidth {}\n"
        "each group fitted on a random half of its rows, or on the calibration shapes of a recording, and "
        "tested on the others\n",
        a.hardware, percent(a.memory));
    if (a.refused > 0) {
        text += fmt::format("{} rows are faster than the floor and were left out:\n", a.refused);
        for (std::size_t i = 0; i < a.refused_names.size() && i < 10; ++i)
            text += "  " + a.refused_names[i] + "\n";
    }
    const bool crossed = !a.other_hardware.empty();
    std::vector<std::string> header{"group",  "rows",        "train",  "test",
                                    "median", "95 % within", "spread", "bias"};
    if (crossed) header.push_back("on " + a.other_hardware);
    Table table(header);
    for (const FittedGroup& g : a.groups) {
        std::vector<std::string> row{g.group,
                                     fmt::format("{}", g.train.rows + g.test.rows),
                                     percent(g.train.mean_abs),
                                     percent(g.test.mean_abs),
                                     percent(g.test.median_abs),
                                     percent(g.test.p95_abs),
                                     fmt::format("x{:.2f}", g.spread),
                                     percent(g.test.bias)};
        if (crossed) row.push_back(g.other.rows > 0 ? percent(g.other.mean_abs) : "");
        table.add(row);
    }
    text += "\n" + table.to_string();
    Table parameters({"parameter", "value", "start", "test error 20 % off", "meaning"});
    for (const FittedGroup& g : a.groups) {
        for (const FittedParameter& p : g.parameters) {
            parameters.add({p.name, value_text(p.value, p.unit), value_text(p.start, p.unit),
                            percent(p.error_when_off), p.meaning});
        }
    }
    return text + "\n" + parameters.to_string();
}

}  // namespace

Report report(const FitAnswer& a) {
    Report r;
    r.rows = "groups";
    r.json = envelope("fit");
    r.json["inputs"]["hw"] = a.hardware;
    r.json["memory_share"] = a.memory;
    r.json["refused"] = a.refused;
    r.json["groups"] = Json::array();
    for (const FittedGroup& g : a.groups) r.json["groups"].push_back(group_json(g));
    r.text = text_of(a);
    return r;
}

Report report(const EngineFitAnswer& a) {
    Report r;
    r.rows = "parameters";
    r.json = envelope("fit");
    r.json["inputs"]["engine"] = a.engine;
    r.json["runs"] = a.rows;
    r.json["parameters"] = Json::array();
    Table parameters({"parameter", "low", "expected", "high"});
    for (const EngineParameter& p : a.parameters) {
        r.json["parameters"].push_back(
            {{"name", p.name}, {"low_s", p.low}, {"expected_s", p.expected}, {"high_s", p.high}});
        parameters.add(
            {p.name, format(Seconds(p.low), 3), format(Seconds(p.expected), 3), format(Seconds(p.high), 3)});
    }
    r.json["overlap"] = a.overlap;
    Table errors({"error", "runs", "mean", "median", "95 % within", "bias"});
    const auto add = [&](const char* key, const char* what, const ErrorSummary& s) {
        r.json[key] = s.rows > 0 ? errors_json(s) : Json();
        if (s.rows > 0)
            errors.add({what, fmt::format("{}", s.rows), percent(s.mean_abs), percent(s.median_abs),
                        percent(s.p95_abs), percent(s.bias)});
    };
    add("tpot_fitted", "TPOT, fitted rows", a.tpot);
    add("tpot_other_model", "TPOT, model left out", a.tpot_other_model);
    add("tpot_other_device", "TPOT, device left out", a.tpot_other_device);
    add("ttft_fitted", "TTFT, fitted rows", a.ttft);
    add("ttft_other_model", "TTFT, model left out", a.ttft_other_model);
    add("ttft_other_device", "TTFT, device left out", a.ttft_other_device);
    r.text =
        fmt::format("host times of {} from {} served runs; overlap {:.3g}\n", a.engine, a.rows, a.overlap) +
        parameters.to_string() + "\n" + errors.to_string();
    return r;
}

}  // namespace headroom
