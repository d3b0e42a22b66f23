// SPDX-License-Identifier: Apache-2.0
#include "report/limits.h"

#include "base/units.h"

#include <fmt/core.h>

namespace headroom {
namespace {

std::string ledger_text(const LimitsAnswer& a) {
    const Ledger& l = a.capacity.ledger;
    const auto line = [&](const std::string& name, Bytes bytes) {
        const double share = bytes / l.device;
        return std::vector<std::string>{name, format_binary(bytes), percent(share), bar(share, 40)};
    };
    Table table({"per GPU", "bytes", "share", ""});
    table.add(line("weights", l.weights));
    if (l.padding > 1e-3 * l.device) table.add(line("  of them padding", l.padding));
    table.add(line("activations", l.activations));
    table.add(line("runtime", l.runtime));
    table.add(line(l.kv >= Bytes{} ? "left for KV" : "missing", l.kv >= Bytes{} ? l.kv : -l.kv));
    table.add(line("engine leaves free", l.device - l.usable));
    return table.to_string();
}

std::string text_of(const LimitsAnswer& a) {
    std::string text = heading(a.question) + "\n";
    text += "device memory " + capacity_note(a.question.hardware) + "\n\n" + ledger_text(a) + "\n";
    const Capacity& c = a.capacity;
    text += fmt::format("KV {} per token", format_binary(Bytes(growth(c.kv).base())));
    if (fixed_part(c.kv) > Bytes{})
        text += fmt::format(" and up to {} fixed per sequence", format_binary(fixed_part(c.kv)));
    if (c.blocks > 0)
        text += fmt::format("; {} blocks of {}{} = {} tokens", format_count(static_cast<double>(c.blocks)),
                            c.block_tokens,
                            c.groups > 1 ? fmt::format(", shared by {} groups of layers,", c.groups) : "",
                            format_count(static_cast<double>(c.capacity_tokens)));
    text += ", per GPU\n";
    if (c.groups > 1)
        text += "a sequence is let in with room for a step's tokens beside the window in windowed layers\n";
    text += "\n";
    if (a.stages.size() > 1) {
        Table stages({"stage", "layers", "weights", "left for KV", "KV per token"});
        for (std::size_t s = 0; s < a.stages.size(); ++s)
            stages.add({std::to_string(s + 1), std::to_string(a.stages[s].layers),
                        format_binary(a.stages[s].weights), format_binary(a.stages[s].kv),
                        format_binary(Bytes(a.stages[s].kv_per_token.base()))});
        text += stages.to_string() + "\n";
    }
    std::vector<std::string> header{"context", "KV per sequence", "sequences that fit"};
    for (const PolicyLimit& p : a.results.front().policies) header.emplace_back(to_string(p.policy));
    Table table(std::move(header));
    for (const Limit& l : a.results) {
        std::vector<std::string> line{format_count(static_cast<double>(l.context)),
                                      format_binary(l.bytes_per_sequence),
                                      format_count(static_cast<double>(l.max_sequences))};
        for (const PolicyLimit& p : l.policies)
            line.push_back(format_count(static_cast<double>(p.max_sequences)));
        table.add(std::move(line));
    }
    text += table.to_string();
    if (a.fits) return text;
    text += fmt::format("\ndoes not fit: one sequence of {} tokens needs {} per GPU, the device has {}\n",
                        format_count(static_cast<double>(a.results.front().context)), format_binary(a.needs),
                        format_binary(a.capacity.ledger.device));
    if (a.nearest)
        return text + fmt::format("nearest fit: {} ({} per GPU)\n", a.nearest->change,
                                  format_binary(a.nearest->needs));
    return text +
           "no deployment of up to 64 of these devices fits it; try fewer bits (--weights, --kv) or a larger "
           "device\n";
}

}  // namespace

Report report(const LimitsAnswer& a) {
    Report r;
    r.json = envelope("limits", a.question);
    const Ledger& l = a.capacity.ledger;
    r.json["inputs"]["context_tokens"] = Json::array();
    for (const Limit& limit : a.results) r.json["inputs"]["context_tokens"].push_back(limit.context);
    r.json["ledger"] = {{"device_bytes", l.device.in(byte)},
                        {"usable_bytes", l.usable.in(byte)},
                        {"weight_bytes", l.weights.in(byte)},
                        {"weight_padding_bytes", l.padding.in(byte)},
                        {"activation_bytes", l.activations.in(byte)},
                        {"runtime_bytes", l.runtime.in(byte)},
                        {"kv_bytes", l.kv.in(byte)},
                        {"capacity", capacity_note(a.question.hardware)}};
    const Capacity& c = a.capacity;
    r.json["kv"] = {{"bytes_per_token", growth(c.kv).base()},
                    {"bytes_per_sequence", fixed_part(c.kv).in(byte)},
                    {"block_tokens", c.block_tokens},
                    {"capacity_tokens", c.capacity_tokens},
                    {"blocks", c.blocks}};
    if (a.stages.size() > 1) {
        r.json["stages"] = Json::array();
        for (const StageShare& s : a.stages)
            r.json["stages"].push_back({{"layers", s.layers},
                                        {"weight_bytes", s.weights.in(byte)},
                                        {"kv_bytes", s.kv.in(byte)},
                                        {"kv_bytes_per_token", s.kv_per_token.base()}});
    }
    r.json["results"] = Json::array();
    for (const Limit& limit : a.results) {
        r.json["results"].push_back({{"context_tokens", limit.context},
                                     {"max_sequences", limit.max_sequences},
                                     {"kv_bytes_per_sequence", limit.bytes_per_sequence.in(byte)}});
        for (const PolicyLimit& p : limit.policies) {
            r.json["results"].back()["policies"][std::string(to_string(p.policy))] = p.max_sequences;
        }
    }
    r.json["fits"] = a.fits;
    if (!a.fits) {
        r.json["needs_bytes"] = a.needs.in(byte);
        r.json["nearest"] = nullptr;
        if (a.nearest) {
            r.json["nearest"] = {{"change", a.nearest->change},
                                 {"gpus", gpus(a.nearest->deployment)},
                                 {"needs_bytes", a.nearest->needs.in(byte)}};
        }
    }
    r.text = text_of(a);
    return r;
}

}  // namespace headroom
