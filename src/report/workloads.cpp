// SPDX-License-Identifier: Apache-2.0
#include "report/workloads.h"

#include "base/units.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {
namespace {

Json lengths_json(const LengthSummary& l) {
    return {{"mean", l.mean}, {"p50", l.p50}, {"p90", l.p90}, {"p99", l.p99}, {"max", l.max}};
}

Json hits_json(const PrefixHits& h) {
    return {{"block_hit_rate", h.block_rate},
            {"token_hit_rate", h.token_rate},
            {"request_hit_rate", h.request_rate}};
}

void put_summary(Json& to, const WorkloadSummary& w) {
    to["requests"] = w.requests;
    to["duration_s"] = w.duration.base();
    to["rate_per_s"] = w.rate.base();
    to["input_tokens"] = lengths_json(w.input_tokens);
    to["output_tokens"] = lengths_json(w.output_tokens);
    to["length_correlation"] = w.length_correlation;
    to["interarrival_cv"] = w.interarrival_cv;
    to["dispersion"] = Json::array();
    for (const Dispersion& d : w.dispersion) {
        to["dispersion"].push_back(
            {{"window_s", d.window.base()}, {"index", d.index}, {"windows", d.windows}});
    }
    to["live_tokens"] = w.live_tokens;
    to["live_sequences"] = w.live_sequences;
    to["token_gap_s"] = w.token_gap.base();
    to["samples"] = w.mean_samples;
    if (w.tick) to["recorder_tick_s"] = w.tick->base();
    if (w.prefix) {
        Json prefix = hits_json(w.prefix->unlimited);
        prefix["block_tokens"] = w.prefix->block_tokens;
        prefix["blocks"] = w.prefix->blocks;
        prefix["distinct_blocks"] = w.prefix->distinct_blocks;
        prefix["lru"] = Json::array();
        for (const PrefixHits& h : w.prefix->limited) {
            Json one{{"capacity_blocks", h.capacity_blocks}};
            one.update(hits_json(h));
            prefix["lru"].push_back(one);
        }
        to["prefix"] = prefix;
    }
    to["rows_skipped"] = w.rows_skipped;
    to["notes"] = w.notes;
}

std::string whole(double value) { return format_count(value); }

std::vector<std::string> lengths_row(const std::string& name, const LengthSummary& l) {
    return {name, whole(l.mean), whole(l.p50), whole(l.p90), whole(l.p99), whole(l.max)};
}

std::string prefix_text(const PrefixSummary& p) {
    std::string text =
        fmt::format("\nprefix cache of {}-token blocks ({} looked up, {} different)\n", p.block_tokens,
                    whole(static_cast<double>(p.blocks)), whole(static_cast<double>(p.distinct_blocks)));
    Table table({"cache", "blocks hit", "tokens hit", "mean of requests"});
    const auto add = [&](const std::string& name, const PrefixHits& h) {
        table.add({name, percent(h.block_rate), percent(h.token_rate), percent(h.request_rate)});
    };
    add("unlimited", p.unlimited);
    for (const PrefixHits& h : p.limited)
        add(whole(static_cast<double>(h.capacity_blocks)) + " blocks, LRU", h);
    return text + table.to_string();
}

std::string summary_text(const WorkloadSummary& w, Frequency described) {
    const bool drawn = described > Frequency{};
    std::string text =
        fmt::format("{} requests{} in {}: {} requests/s", whole(static_cast<double>(w.requests)),
                    drawn ? " drawn" : "", format(w.duration), format_number(w.rate.base(), 4));
    if (drawn)
        text += fmt::format(" (described: {}); all below is of the requests drawn",
                            format_number(described.base(), 4));
    text += "\n\n";
    Table lengths({"tokens", "mean", "p50", "p90", "p99", "max"});
    lengths.add(lengths_row("input", w.input_tokens));
    lengths.add(lengths_row("output", w.output_tokens));
    text += lengths.to_string();
    text += fmt::format("\ngaps between arrivals: CV {}", format_number(w.interarrival_cv, 3));
    for (const Dispersion& d : w.dispersion) {
        text += fmt::format("{} {} in {:.0f} s",
                            &d == w.dispersion.data() ? "; variance over mean of arrivals" : ",",
                            format_number(d.index, 3), d.window.base());
    }
    text += fmt::format("\nlive at {} per token (Little's law): {} sequences, {} tokens\n",
                        format(w.token_gap), whole(w.live_sequences), whole(w.live_tokens));
    if (w.mean_samples > 1)
        text += fmt::format("sequences per request: {}\n", format_number(w.mean_samples, 3));
    if (w.prefix) text += prefix_text(*w.prefix);
    for (const std::string& note : w.notes) text += "note: " + note + "\n";
    return text;
}

}  // namespace

Report report_list(const std::vector<WorkloadEntry>& entries) {
    Report r;
    r.json = envelope("workloads");
    r.json["results"] = Json::array();
    std::int64_t drawn = 0;
    Table table({"name", "requests/s", "input", "output", "prefix hits", "title"});
    for (const WorkloadEntry& e : entries) {
        const WorkloadSummary& w = e.summary;
        drawn = std::max(drawn, w.requests);
        table.add({e.name, format_number(e.described.base(), 3), whole(w.input_tokens.mean),
                   whole(w.output_tokens.mean), w.prefix ? percent(w.prefix->unlimited.token_rate) : "-",
                   e.title});
        Json one{{"name", e.name}, {"title", e.title}};
        put_summary(one, w);
        one["described_rate_per_s"] = e.described.base();
        r.json["results"].push_back(one);
    }
    r.text = table.to_string() +
             fmt::format(
                 "requests/s as described; lengths and prefix hits of the first {} requests drawn "
                 "(show draws all)\n",
                 whole(static_cast<double>(drawn)));
    return r;
}

Report report(const WorkloadEntry& e) {
    Report r;
    r.rows = "dispersion";
    r.json = envelope("workloads");
    r.json["name"] = e.name;
    r.json["title"] = e.title;
    r.json["format"] = e.format;
    put_summary(r.json, e.summary);
    r.text = fmt::format("{}{}, read as {}\n", e.name, e.title.empty() ? "" : ": " + e.title, e.format);
    for (const Source& s : e.sources)
        r.text +=
            fmt::format("source {}: {}{}\n", s.id, s.title, s.where.empty() ? "" : " (" + s.where + ")");
    if (e.described > Frequency{}) r.json["described_rate_per_s"] = e.described.base();
    r.text += summary_text(e.summary, e.described);
    return r;
}

Report report(const WorkloadFit& f, const std::string& yaml) {
    Report r;
    r.rows = "choices";
    r.json = envelope("workloads");
    r.json["name"] = f.workload.name;
    r.json["yaml"] = yaml;
    r.json["input_distance"] = f.input_distance;
    r.json["output_distance"] = f.output_distance;
    r.json["choices"] = f.choices;
    put_summary(r.json["observed"], f.observed);
    put_summary(r.json["fitted"], f.fitted);
    r.text = yaml;
    return r;
}

}  // namespace headroom
