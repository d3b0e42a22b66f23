// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "report/catalogue.h"
#include "spec/source_kinds.h"

#include <fmt/format.h>

namespace headroom {
namespace {

// Collects the figures of a profile as table rows and JSON alike.
class Figures {
  public:
    template <Dimension D>
    void add(const std::string& name, const std::string& json_key, const Fact<Quantity<D>>& fact,
             const std::string& text) {
        put(name, json_key, fact.value.base(), text, fact.source, fact.kind);
    }
    template <Dimension D>
    void add(const std::string& name, const std::string& json_key,
             const std::optional<Fact<Quantity<D>>>& fact) {
        if (fact) add(name, json_key, *fact, format(fact->value));
    }
    void put(const std::string& name, const std::string& json_key, double value, const std::string& text,
             const std::string& source, SourceKind kind) {
        table.add({name, text, std::string(to_string(kind)), source});
        json[json_key] = {{"value", value}, {"kind", to_string(kind)}, {"source", source}};
    }

    Table table{{"figure", "value", "kind", "source"}};
    Json json = Json::object();
};

Json sources_json(const std::vector<Source>& sources) {
    Json list = Json::array();
    for (const Source& s : sources) {
        list.push_back({{"id", s.id},
                        {"kind", to_string(s.kind)},
                        {"title", s.title},
                        {"where", s.where},
                        {"date", s.date}});
    }
    return list;
}

std::string sources_text(const std::vector<Source>& sources) {
    std::string text = "\nsources\n";
    for (const Source& s : sources) {
        text += fmt::format("  {}: {}{}{}\n", s.id, s.title, s.date.empty() ? "" : ", " + s.date,
                            s.where.empty() ? "" : ", " + s.where);
    }
    return text;
}

void add_link(Figures& f, const std::string& key, const std::optional<Link>& link) {
    if (!link) return;
    f.add(fmt::format("{} per direction", link->name), key + "_bytes_per_s",
          std::optional(link->per_direction));
    if (link->domain) {
        f.put(link->name + " domain", key + "_gpus", link->domain->value, format_number(link->domain->value),
              link->domain->source, link->domain->kind);
    }
}

Figures figures_of(const Hardware& h) {
    Figures f;
    f.add("memory as sold", "nominal_bytes", std::optional(h.memory.nominal));
    f.add("memory used here", "capacity_bytes", h.memory.capacity, format_binary(h.memory.capacity.value));
    f.add("memory bandwidth", "bandwidth_bytes_per_s", std::optional(h.memory.bandwidth));
    if (h.memory.l2) f.add("L2", "l2_bytes", *h.memory.l2, format_binary(h.memory.l2->value));
    f.put("SMs", "sms", h.compute.sms.value, format_number(h.compute.sms.value), h.compute.sms.source,
          h.compute.sms.kind);
    f.add("clock", "clock_per_s", std::optional(h.compute.clock));
    for (const auto& [name, key, fact] :
         {std::tuple{"SRAM per SM", "sram_per_sm_bytes", h.compute.sram_per_sm},
          {"SRAM per block", "sram_per_block_bytes", h.compute.sram_per_block},
          {"registers per SM", "registers_per_sm_bytes", h.compute.registers_per_sm}}) {
        if (fact) f.add(name, key, *fact, format_binary(fact->value));
    }
    for (const auto& [type, peak] : h.compute.dense) {
        f.add(fmt::format("{} dense", to_string(type)), fmt::format("dense_{}_flop_per_s", to_string(type)),
              std::optional(peak));
    }
    for (const auto& [type, peak] : h.compute.sparse) {
        f.add(fmt::format("{} sparse (not used)", to_string(type)),
              fmt::format("sparse_{}_flop_per_s", to_string(type)), std::optional(peak));
    }
    add_link(f, "scale_up", h.scale_up);
    add_link(f, "pcie", h.pcie);
    add_link(f, "network", h.network);
    f.add("power", "tdp_w", h.tdp);
    return f;
}

}  // namespace

Report report_list(const std::vector<Hardware>& devices) {
    Report r;
    r.json = envelope("hw");
    r.json["results"] = Json::array();
    Table table({"name", "memory", "bandwidth", "16-bit dense", "fp8 dense", "ridge FLOP/B", "link"});
    for (const Hardware& h : devices) {
        const Peak peak = dense_peak(h, ElementType::bf16).value_or(Peak{});
        const auto fp8 = h.compute.dense.find(ElementType::fp8);
        const double ridge = ridge_point(h, ElementType::bf16).base();
        table.add({h.name, format_binary(h.memory.capacity.value), format(h.memory.bandwidth.value),
                   format(peak.rate), fp8 == h.compute.dense.end() ? "-" : format(fp8->second.value),
                   format_number(ridge, 4), h.scale_up ? format(h.scale_up->per_direction.value) : "-"});
        r.json["results"].push_back({{"name", h.name},
                                     {"title", h.title},
                                     {"capacity_bytes", h.memory.capacity.value.in(byte)},
                                     {"nominal_bytes", h.memory.nominal.value.in(byte)},
                                     {"bandwidth_bytes_per_s", h.memory.bandwidth.value.base()},
                                     {"dense_16bit_flop_per_s", peak.rate.base()},
                                     {"ridge_flop_per_byte", ridge}});
    }
    r.text = table.to_string();
    return r;
}

Report report(const Hardware& h) {
    Report r;
    r.json = envelope("hw");
    r.json["name"] = h.name;
    r.json["title"] = h.title;
    r.json["vendor"] = h.vendor;
    r.json["generation"] = h.generation.name;
    Figures f = figures_of(h);
    r.json["ridge_flop_per_byte"] = Json::object();
    std::string ridges;
    for (const auto& [type, peak] : h.compute.dense) {
        const double ridge = (peak.value / h.memory.bandwidth.value).base();
        r.json["ridge_flop_per_byte"][std::string(to_string(type))] = ridge;
        ridges +=
            fmt::format("{}{} {}", ridges.empty() ? "" : ", ", to_string(type), format_number(ridge, 4));
    }
    r.json["figures"] = std::move(f.json);
    r.json["sources"] = sources_json(h.sources);
    r.text = fmt::format("{}: {}, {}\n\n", h.name, h.title, h.generation.title) + f.table.to_string() +
             fmt::format("\nridge, FLOP/B (derived): {}\n", ridges) + sources_text(h.sources);
    return r;
}

Report report_list(const std::vector<Engine>& engines) {
    Report r;
    r.json = envelope("engines");
    r.json["results"] = Json::array();
    Table table({"name", "version", "utilisation", "block", "sequences", "tokens per step", "host per step",
                 "title"});
    for (const Engine& e : engines) {
        table.add({e.name, e.version, format_number(e.memory.utilisation.value),
                   format_number(e.memory.block_tokens.value), format_count(e.scheduler.max_sequences.value),
                   format_count(e.scheduler.max_batched_tokens.value),
                   format(Seconds(e.time.per_step.expected)), e.title});
        r.json["results"].push_back({{"name", e.name},
                                     {"version", e.version},
                                     {"title", e.title},
                                     {"utilisation", e.memory.utilisation.value},
                                     {"block_tokens", e.memory.block_tokens.value}});
    }
    r.text = table.to_string();
    return r;
}

Report report(const Engine& e) {
    Report r;
    r.json = envelope("engines");
    r.json["name"] = e.name;
    r.json["title"] = e.title;
    r.json["engine_version"] = e.version;
    Figures f;
    const auto plain = [&](const std::string& name, const std::string& key, const Fact<double>& fact) {
        f.put(name, key, fact.value, format_number(fact.value), fact.source, fact.kind);
    };
    plain("memory utilisation", "utilisation", e.memory.utilisation);
    plain("tokens per block", "block_tokens", e.memory.block_tokens);
    plain("copies of the logits", "logits_copies", e.memory.logits_copies);
    plain("activation factor", "token_factor", e.memory.token_factor);
    if (const auto& peak = e.memory.activation_peak)
        f.add("activation peak", "activation_peak_bytes", *peak, format_binary(peak->value));
    for (const auto& [tp, bytes] : e.memory.runtime_by_tp) {
        f.add(fmt::format("runtime, tp {}", tp), fmt::format("runtime_tp{}_bytes", tp), bytes,
              format_binary(bytes.value));
    }
    if (const auto& bytes = e.memory.runtime_without_link)
        f.add("runtime without link", "runtime_without_link_bytes", *bytes, format_binary(bytes->value));
    for (const ExpertPadding& p : e.memory.expert_padding) {
        const std::string on =
            p.generations.empty() ? "other devices" : fmt::format("{}", fmt::join(p.generations, ", "));
        std::string rule;
        for (const auto& [name, multiple] : {std::pair{"hidden", p.hidden},
                                             {"intermediate", p.intermediate},
                                             {"outputs", p.outputs},
                                             {"inputs", p.inputs},
                                             {"scales' outputs", p.scale_outputs}}) {
            if (multiple > 1) rule += fmt::format("{}{} {}", rule.empty() ? "" : ", ", name, multiple);
        }
        if (p.loaded_scales) rule += ", scales twice";
        f.table.add({fmt::format("{} experts, multiples", p.format), rule, on, p.source});
    }
    if (const auto& bytes = e.memory.allocation_granule)
        f.add("allocation granule", "allocation_granule_bytes", *bytes, format_binary(bytes->value));
    plain("sequences at most", "max_sequences", e.scheduler.max_sequences);
    plain("tokens per step at most", "max_batched_tokens", e.scheduler.max_batched_tokens);
    for (const auto& [name, key, interval] :
         {std::tuple{"host time per step", "per_step_s", e.time.per_step},
          {"host time per sequence", "per_sequence_s", e.time.per_sequence},
          {"host time per request", "per_request_s", e.time.per_request},
          {"a kernel that quantises", "quantise_s", e.time.quantise}}) {
        f.table.add({name, format(Seconds(interval.expected)),
                     fmt::format("{} .. {}", format(Seconds(interval.low)), format(Seconds(interval.high))),
                     interval.source});
        f.json[key] = {{"low", interval.low},
                       {"expected", interval.expected},
                       {"high", interval.high},
                       {"source", interval.source}};
    }
    f.json["prompt_stretch"] = e.time.prompt_stretch;
    f.json["per_expert_layer_s"] = e.time.per_expert_layer;
    f.table.add({"a prompt's step over its kernels", format_number(e.time.prompt_stretch), "", ""});
    f.table.add({"and at least, per expert layer", format(Seconds(e.time.per_expert_layer)), "", ""});
    r.json["figures"] = std::move(f.json);
    r.json["sources"] = sources_json(e.sources);
    r.text = fmt::format("{}: {}\n\n", e.name, e.title) + f.table.to_string() + sources_text(e.sources);
    return r;
}

}  // namespace headroom
