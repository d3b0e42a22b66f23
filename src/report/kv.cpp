// SPDX-License-Identifier: Apache-2.0
#include "report/kv.h"

#include "base/units.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace headroom {
namespace {

// One character per stretch of time, darker for fuller.
std::string over_time(const std::vector<double>& utilisation, std::size_t width) {
    static constexpr std::string_view kShades = " .:-=+*#%@";
    std::string line;
    if (utilisation.empty()) return line;
    for (std::size_t i = 0; i < width; ++i) {
        const double used = utilisation[i * utilisation.size() / width];
        const auto shade =
            static_cast<std::size_t>(std::clamp(used, 0.0, 0.999) * static_cast<double>(kShades.size()));
        line += kShades[shade];
    }
    return line;
}

std::string name_of(const ReplayResult& r) {
    return r.block > 0 ? fmt::format("{} {}", to_string(r.policy), r.block)
                       : std::string(to_string(r.policy));
}

Json row_json(const KvRow& row) {
    const ReplayResult& r = row.replayed;
    Json j;
    j["policy"] = std::string(to_string(r.policy));
    j["block_tokens"] = r.block;
    j["utilisation"] = r.utilisation;
    j["internal_waste"] = r.internal_waste;
    j["reservation_waste"] = r.reservation_waste;
    j["external_waste"] = r.external_waste;
    j["free"] = r.free;
    j["cached"] = r.cached;
    j["shared_savings"] = r.shared_savings;
    j["prefix_found"] = r.prefix_found;
    j["mean_sequences"] = r.mean_sequences;
    j["throughput_tokens_per_s"] = r.throughput ? Json(r.throughput->base()) : Json(nullptr);
    j["estimate"] = {{"utilisation", row.estimate.utilisation},
                     {"internal_waste", row.estimate.internal_waste},
                     {"reservation_waste", row.estimate.reservation_waste},
                     {"mean_sequences", row.estimate.sequences},
                     {"difference", row.explanation}};
    j["sequences_that_fit"] = row.fits;
    j["preemptions"] = r.preemptions;
    j["requests"] = r.requests;
    j["completed"] = r.completed;
    j["refused"] = r.refused;
    j["under_load"] = r.loaded;
    j["utilisation_over_time"] = r.utilisation_over_time;
    return j;
}

std::string text_of(const KvAnswer& a, const KvRequest& request, const std::vector<std::string>& notes) {
    std::string text = heading(a.question) + "\n";
    text += fmt::format("workload {}; KV region {} tokens of {} per GPU, maximum length {}\n",
                        a.question.echo.workload, format_count(static_cast<double>(a.region_tokens)),
                        format_binary(Bytes(a.bytes_per_token.base())),
                        format_count(static_cast<double>(request.max_length)));
    if (a.rows.empty()) {
        return text + (a.held.requests == 0 ? "no prompt is shorter than the maximum length (--max-len)\n"
                                            : "nothing is left for KV: see `headroom limits`\n");
    }
    text += fmt::format("a sequence holds {} tokens on average while it runs, {} at its end\n\n",
                        format_count(std::round(a.held.live)), format_count(std::round(a.held.final)));
    Table table({"policy", "used", "internal", "reserved", "external", "free", "shared", "sequences",
                 "tokens/s", "estimate", "preempted"});
    for (const KvRow& row : a.rows) {
        const ReplayResult& r = row.replayed;
        table.add({name_of(r), percent(r.utilisation), percent(r.internal_waste),
                   percent(r.reservation_waste), percent(r.external_waste), percent(r.free),
                   percent(r.shared_savings), format_number(r.mean_sequences, 3),
                   r.throughput ? format_count(r.throughput->base()) : "",
                   row.estimate.utilisation > 0 ? percent(row.estimate.utilisation) : "-",
                   format_count(static_cast<double>(r.preemptions))});
    }
    text += table.to_string() + "\nused over time\n";
    Table lines({"policy", ""});
    for (const KvRow& row : a.rows)
        lines.add({name_of(row.replayed), over_time(row.replayed.utilisation_over_time, 64)});
    text += lines.to_string() + "\nreplay against estimate\n";
    Table why({"policy", ""});
    for (const KvRow& row : a.rows) why.add({name_of(row.replayed), row.explanation});
    text += why.to_string();
    if (a.best_block > 0) text += fmt::format("\nbest block: {} tokens\n", a.best_block);
    for (const std::string& note : a.notes) text += "note: " + note + "\n";
    for (const std::string& note : notes) text += "note: " + note + "\n";
    return text;
}

}  // namespace

Report report(const KvAnswer& a, const KvRequest& request, const std::vector<std::string>& notes) {
    Report r;
    r.rows = "policies";
    r.json = envelope("kv", a.question);
    Json& inputs = r.json["inputs"];
    inputs["block_tokens"] = request.blocks;
    inputs["max_length_tokens"] = request.max_length;
    inputs["max_sequences"] = a.max_sequences;
    r.json["region_tokens"] = a.region_tokens;
    r.json["bytes_per_token"] = a.bytes_per_token.base();
    r.json["kv_bytes"] = a.ledger.kv.in(byte);
    r.json["mean_live_tokens"] = a.held.live;
    r.json["mean_final_tokens"] = a.held.final;
    r.json["policies"] = Json::array();
    for (const KvRow& row : a.rows) r.json["policies"].push_back(row_json(row));
    r.json["best_block_tokens"] = a.best_block > 0 ? Json(a.best_block) : Json(nullptr);
    r.json["notes"] = a.notes;
    for (const std::string& note : notes) r.json["notes"].push_back(note);
    r.text = text_of(a, request, notes);
    return r;
}

}  // namespace headroom
