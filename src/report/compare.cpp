// SPDX-License-Identifier: Apache-2.0
#include "report/compare.h"

#include "base/units.h"

#include <fmt/core.h>

namespace headroom {
namespace {

double tokens_per_s(const CompareRow& r) {
    return r.batch > 0 ? static_cast<double>(r.batch) / r.decode.time.expected.in(second) : 0;
}

std::string ratio(double value, double first) {
    return first > 0 && value > 0 ? format_number(value / first, 3) + "x" : "-";
}

std::string text_of(const CompareAnswer& a) {
    const CompareRow& first = a.rows.front();
    const Question& q = first.question;
    std::string text = a.axis == "model" ? "models" : q.model.name;
    text += a.axis == "hw" ? " on devices" : " on " + deployment_name(q);
    text += fmt::format(
        ", engine {}, context {}, {}\n\n", q.engine.name, format_count(static_cast<double>(a.context)),
        a.batch > 0 ? fmt::format("batch {}", a.batch) : std::string("the largest batch that fits"));
    Table table({a.axis, "parameters", "weights/GPU", "KV/token", "fits", "", "batch", "step", "tokens/s", "",
                 "FLOP/B", "ridge", "saturates at", "binds"});
    bool any = false;
    for (const CompareRow& r : a.rows) {
        const bool timed = r.batch > 0;
        table.add(
            {r.name, format_number(r.parameters.total / 1e9, 4) + " B", format_binary(r.weights),
             format_binary(Bytes(r.kv_per_token.base())), format_count(static_cast<double>(r.max_sequences)),
             ratio(static_cast<double>(r.max_sequences), static_cast<double>(first.max_sequences)),
             format_count(static_cast<double>(r.batch)), timed ? format(r.decode.time.expected, 3) : "-",
             timed ? format_number(tokens_per_s(r), 4) : "-", ratio(tokens_per_s(r), tokens_per_s(first)),
             timed ? format_number((r.decode.work.flop / compulsory_bytes(r.decode.work)).base(), 3) : "-",
             format_number(r.ridge.base(), 3), format_number(r.batch_to_saturate, 3),
             timed ? bound_text(r.decode.bound, r.decode.floor_bound) : "does not fit"});
        any = any || (timed && differs(r.decode.bound, r.decode.floor_bound));
    }
    text += table.to_string() + bound_note(any);
    for (const CompareRow& r : a.rows) {
        if (!r.slower_kernels.empty()) text += fmt::format("note: {}: {}\n", r.name, r.slower_kernels);
    }
    bool noted = false;
    for (const CompareRow& r : a.rows) {
        if (r.note.empty()) continue;
        text += fmt::format("{}{}: {}\n", noted ? "" : "\nwhat each takes away\n", r.name, r.note);
        noted = true;
    }
    if (noted) text += "what that costs in accuracy is not known to this tool\n";
    return text;
}

}  // namespace

Report report(const CompareAnswer& a) {
    Report r;
    r.json = envelope("compare", a.rows.front().question);
    r.json["inputs"]["axis"] = a.axis;
    r.json["inputs"]["context_tokens"] = a.context;
    r.json["rows"] = Json::array();
    const CompareRow& first = a.rows.front();
    for (const CompareRow& row : a.rows) {
        Json j = {{"name", row.name},
                  {a.axis, row.name},
                  {"parameters", row.parameters.total},
                  {"weight_bytes", row.weights.in(byte)},
                  {"kv_bytes_per_token", row.kv_per_token.base()},
                  {"kv_bytes_per_sequence", row.kv_per_sequence.in(byte)},
                  {"max_sequences", row.max_sequences},
                  {"batch", row.batch}};
        j["decode_tokens_per_s"] = tokens_per_s(row);
        j["decode_expected_s"] = row.decode.time.expected.in(second);
        j["decode_floor_s"] = row.decode.time.floor.in(second);
        j["bound"] = row.batch > 0 ? to_string(row.decode.bound) : "does not fit";
        if (row.batch > 0) j["floor_bound"] = to_string(row.decode.floor_bound);
        if (!row.slower_kernels.empty()) j["note"] = row.slower_kernels;
        j["ridge_flop_per_byte"] = row.ridge.base();
        j["batch_to_saturate"] = row.batch_to_saturate;
        if (tokens_per_s(first) > 0) j["tokens_per_s_ratio"] = tokens_per_s(row) / tokens_per_s(first);
        if (first.max_sequences > 0)
            j["max_sequences_ratio"] =
                static_cast<double>(row.max_sequences) / static_cast<double>(first.max_sequences);
        if (!row.note.empty()) j["removes"] = row.note;
        r.json["rows"].push_back(std::move(j));
    }
    r.rows = "rows";
    r.text = text_of(a);
    return r;
}

}  // namespace headroom
