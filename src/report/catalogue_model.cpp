// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "report/catalogue.h"

#include <fmt/core.h>

namespace headroom {
namespace {

std::string billions(double parameters) {
    if (parameters < 1e9) return format_number(parameters / 1e6, 4) + " M";
    return format_number(parameters / 1e9, 5) + " B";
}

std::string kv_text(const KvLaw& law) {
    std::string text =
        law.per_token > BytesPerToken{} ? format_binary(Bytes(law.per_token.base()), 5) + "/token" : "";
    if (law.cap > 0) text += fmt::format(" up to {} tokens", format_count(static_cast<double>(law.cap)));
    if (law.per_sequence > Bytes{})
        text += (text.empty() ? "" : " + ") + format_binary(law.per_sequence) + " fixed";
    return text.empty() ? "none" : text;
}

Json parameters_json(const ParameterCount& p) {
    return {
        {"total", p.total}, {"active", p.active}, {"active_without_embedding", p.active_without_embedding}};
}

Json kv_json(const ModelKv& kv) {
    return {{"bytes_per_token", growth(kv).base()}, {"bytes_per_sequence", fixed_part(kv).in(byte)}};
}

}  // namespace

Report report_list(const std::vector<ModelFacts>& models) {
    Report r;
    r.json = envelope("models");
    r.json["results"] = Json::array();
    Table table({"name", "parameters", "active", "layers", "weights", "KV per token", "fixed per sequence"});
    for (const ModelFacts& m : models) {
        table.add({m.model.name, billions(m.parameters.total), billions(m.parameters.active),
                   format_count(static_cast<double>(m.model.layout.size())), format_binary(m.weights),
                   format_binary(Bytes(growth(m.kv).base()), 5), format_binary(fixed_part(m.kv))});
        r.json["results"].push_back({{"name", m.model.name},
                                     {"parameters", parameters_json(m.parameters)},
                                     {"weight_bytes", m.weights.in(byte)},
                                     {"layers", m.model.layout.size()},
                                     {"kv", kv_json(m.kv)}});
    }
    r.text = table.to_string();
    return r;
}

Report report(const ModelFacts& m, bool unused_keys) {
    Report r;
    r.json = envelope("models");
    r.json["name"] = m.model.name;
    r.json["source"] = m.model.source;
    r.json["parameters"] = parameters_json(m.parameters);
    r.json["weight_bytes"] = m.weights.in(byte);
    r.json["layers"] = m.model.layout.size();
    r.json["hidden"] = m.model.hidden;
    r.json["vocabulary"] = m.model.vocabulary;
    r.json["kv"] = kv_json(m.kv);
    r.json["kinds"] = Json::array();
    Table table({"layers", "kind", "mixer", "parameters each", "bytes each", "KV each"});
    for (const LayerFacts& l : m.layers) {
        table.add({format_count(l.layers), l.kind, l.mixer, format_count(l.parameters),
                   format_binary(l.weights), kv_text(l.kv)});
        r.json["kinds"].push_back({{"name", l.kind},
                                   {"mixer", l.mixer},
                                   {"layers", l.layers},
                                   {"parameters", l.parameters},
                                   {"weight_bytes", l.weights.in(byte)},
                                   {"kv_bytes_per_token", l.kv.per_token.base()},
                                   {"kv_cap_tokens", l.kv.cap},
                                   {"kv_bytes_per_sequence", l.kv.per_sequence.in(byte)}});
    }
    r.json["unused_keys"] = m.unused_keys;
    r.json["notes"] = m.notes;
    r.rows = "kinds";
    r.text = fmt::format("{}{}\n", m.model.name, m.model.source.empty() ? "" : ", from " + m.model.source);
    r.text += fmt::format("parameters {} ({}); active per token {}, without embedding and head {}\n",
                          format_count(m.parameters.total), billions(m.parameters.total),
                          billions(m.parameters.active), billions(m.parameters.active_without_embedding));
    r.text += fmt::format("weights {} ({}), hidden {}, vocabulary {}\n", format_binary(m.weights),
                          format(m.weights), format_count(static_cast<double>(m.model.hidden)),
                          format_count(static_cast<double>(m.model.vocabulary)));
    r.text += fmt::format("KV {} bytes per token", format_count(growth(m.kv).base()));
    if (fixed_part(m.kv) > Bytes{})
        r.text += fmt::format(", up to {} fixed per sequence", format_binary(fixed_part(m.kv)));
    r.text += "\n\n" + table.to_string();
    for (const std::string& note : m.notes) r.text += "note: " + note + "\n";
    if (unused_keys) {
        r.text += "\nkeys of the config that were not used:";
        for (const std::string& key : m.unused_keys) r.text += " " + key;
        r.text += "\n";
    }
    return r;
}

}  // namespace headroom
