// SPDX-License-Identifier: Apache-2.0
#include "report/validate.h"

#include "base/units.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace headroom {
namespace {

Json case_json(const MeasuredCase& c) {
    Json j = {{"name", c.name},
              {"group", c.group},
              {"predicted_s", c.predicted.expected.in(second)},
              {"low_s", c.predicted.low.in(second)},
              {"high_s", c.predicted.high.in(second)},
              {"measured_s", c.measured.in(second)},
              {"error", c.error},
              {"floor_s", c.predicted.floor.in(second)},
              {"where", c.where}};
    if (c.tokens > 0) {
        j["predicted_tokens_per_s"] = c.tokens / c.predicted.expected.in(second);
        j["measured_tokens_per_s"] = c.tokens / c.measured.in(second);
    }
    if (c.measured_hbm) {
        j["predicted_hbm_bytes"] = c.predicted_hbm.in(byte);
        j["measured_hbm_bytes"] = c.measured_hbm->in(byte);
    }
    if (!c.refused.empty()) j["refused"] = c.refused;
    if (!c.not_counted.empty()) j["not_counted"] = c.not_counted;
    return j;
}

Json summary_json(const CaseSummary& s) {
    return {{"group", s.group},
            {"cases", s.errors.rows},
            {"mean_abs_error", s.errors.mean_abs},
            {"median_abs_error", s.errors.median_abs},
            {"p95_abs_error", s.errors.p95_abs},
            {"bias", s.errors.bias},
            {"inside_interval", s.inside_interval},
            {"median_interval", s.median_width},
            {"below_floor", s.below_floor}};
}

void add_row(Table& table, const CaseSummary& s) {
    if (s.errors.rows == 0) {
        table.add({s.group, "0", "-", "-", "-", "-", "-", "-", fmt::format("{}", s.below_floor)});
        return;
    }
    table.add({s.group, fmt::format("{}", s.errors.rows), percent(s.errors.mean_abs),
               percent(s.errors.median_abs), percent(s.errors.p95_abs), percent(s.errors.bias),
               percent(s.inside_interval), fmt::format("x{:.2f}", s.median_width),
               fmt::format("{}", s.below_floor)});
}

/// Refused rows by name, the first few.
std::string refusals(const ValidateAnswer& a) {
    constexpr int shown = 20;
    std::string text;
    int count = 0;
    for (const MeasuredCase& c : a.cases) {
        if (c.refused.empty()) continue;
        if (++count <= shown)
            text += fmt::format("  {} {}: measured {}, floor {}: {}\n", c.where, c.name,
                                format(c.measured, 4), format(c.predicted.floor, 4), c.refused);
    }
    if (count > shown) text += fmt::format("  and {} more (--format json names all)\n", count - shown);
    return count == 0 ? "" : fmt::format("\n{} rows refused\n", count) + text;
}

std::string worst(const ValidateAnswer& a) {
    std::vector<const MeasuredCase*> order;
    for (const MeasuredCase& c : a.cases) {
        if (c.refused.empty() && c.not_counted.empty()) order.push_back(&c);
    }
    std::stable_sort(order.begin(), order.end(), [](const MeasuredCase* x, const MeasuredCase* y) {
        return std::abs(std::log1p(x->error)) > std::abs(std::log1p(y->error));
    });
    Table table({"furthest off", "predicted", "measured", "error", "where"});
    for (std::size_t i = 0; i < order.size() && i < 5; ++i)
        table.add({order[i]->name, format(order[i]->predicted.expected, 4), format(order[i]->measured, 4),
                   percent(order[i]->error), order[i]->where});
    return "\n" + table.to_string();
}

Json counter_json(const TrafficCount& c) {
    return {{"name", c.name},
            {"mapping", c.mapping},
            {"predicted_hbm_bytes", (c.predicted_reads + c.predicted_writes).in(byte)},
            {"counted_hbm_bytes", (c.counted_reads + c.counted_writes).in(byte)},
            {"predicted_reads_bytes", c.predicted_reads.in(byte)},
            {"predicted_writes_bytes", c.predicted_writes.in(byte)},
            {"counted_reads_bytes", c.counted_reads.in(byte)},
            {"counted_writes_bytes", c.counted_writes.in(byte)},
            {"drained", c.drained},
            {"difference", c.difference},
            {"where", c.where}};
}

std::string counter_text(const ValidateAnswer& a) {
    if (a.counters.empty()) return "";
    bool reads_only = false;
    Table table({"bytes by counters", "mapping", "predicted", "counted", "difference", ""});
    for (const TrafficCount& c : a.counters) {
        reads_only |= !c.drained;
        table.add({c.name, c.mapping, format(c.predicted(), 4), format(c.counted(), 4), percent(c.difference),
                   c.drained ? "" : "reads"});
    }
    return "\n" + table.to_string() +
           (reads_only ? "reads: counting stopped with the last of what was written still in L2\n" : "");
}

Json capacity_json(const CapacityCase& c) {
    Json j = {{"name", c.name},
              {"group", c.group},
              {"predicted_" + c.unit, c.predicted},
              {"measured_" + c.unit, c.measured},
              {"error", c.error},
              {"where", c.where}};
    if (!c.not_counted.empty()) j["not_counted"] = c.not_counted;
    return j;
}

std::string capacity_text(const ValidateAnswer& a) {
    if (a.capacities.empty()) return "";
    Table table({"memory", "rows", "mean", "median", "worst", "bias"});
    for (const CaseSummary& s : a.capacity_groups)
        table.add({s.group, fmt::format("{}", s.errors.rows), percent(s.errors.mean_abs),
                   percent(s.errors.median_abs), percent(s.worst), percent(s.errors.bias)});
    Table rows({"row", "predicted", "measured", "error", ""});
    for (const CapacityCase& c : a.capacities)
        rows.add({c.name + (c.unit == "tokens" ? " KV" : ""), format_number(c.predicted, 4),
                  format_number(c.measured, 4), percent(c.error), c.not_counted});
    return table.to_string() + "\n" + rows.to_string();
}

}  // namespace

Report report(const ValidateAnswer& a) {
    Report r;
    r.rows = "cases";
    r.json = envelope("validate");
    r.json["inputs"]["measured"] = a.files;
    r.json["cases"] = Json::array();
    for (const MeasuredCase& c : a.cases) r.json["cases"].push_back(case_json(c));
    r.json["summary"] = Json::array();
    for (const CaseSummary& s : a.groups) r.json["summary"].push_back(summary_json(s));
    r.json["overall"] = summary_json(a.overall);
    r.json["notes"] = a.notes;
    if (!a.counters.empty()) {
        r.json["counters"] = Json::array();
        for (const TrafficCount& c : a.counters) r.json["counters"].push_back(counter_json(c));
    }
    if (!a.capacities.empty()) {
        r.json["capacities"] = Json::array();
        for (const CapacityCase& c : a.capacities) r.json["capacities"].push_back(capacity_json(c));
        r.json["capacity_summary"] = Json::array();
        for (const CaseSummary& s : a.capacity_groups) {
            Json j = summary_json(s);
            j["worst_abs_error"] = s.worst;
            for (const char* key : {"inside_interval", "median_interval", "below_floor"}) j.erase(key);
            r.json["capacity_summary"].push_back(std::move(j));
        }
    }

    Table table(
        {"group", "cases", "mean", "median", "95 % within", "bias", "in interval", "interval", "refused"});
    for (const CaseSummary& s : a.groups) add_row(table, s);
    if (a.groups.size() > 1) add_row(table, a.overall);
    r.text = "errors: predicted over measured - 1\n";
    if (!a.cases.empty()) r.text += table.to_string() + worst(a) + refusals(a);
    r.text += counter_text(a) + capacity_text(a);
    for (const std::string& note : a.notes) r.text += "note: " + note + "\n";
    return r;
}

}  // namespace headroom
