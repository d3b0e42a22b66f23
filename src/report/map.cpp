// SPDX-License-Identifier: Apache-2.0
#include "report/map.h"

#include "base/units.h"

#include <fmt/core.h>

namespace headroom {
namespace {

Bytes as_bytes(std::int64_t n) { return Bytes(static_cast<double>(n)); }

double ratio(std::int64_t a, std::int64_t b) {
    return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

// Of what the SMs ask of L2, the part that HBM does not have to supply.
double absorbed(const Analysis& a) {
    const auto l2 = a.levels[1].reads_bytes + a.levels[1].writes_bytes;
    return l2 == 0 ? 0 : std::max(0.0, 1 - ratio(a.hbm_bytes, l2));
}

std::string room(std::int64_t capacity) { return capacity == 0 ? "-" : format_binary(as_bytes(capacity)); }

std::string levels_text(const Analysis& a) {
    Table table({"level", "read", "written", "held", "room"});
    for (const LevelTraffic& l : a.levels) {
        table.add({std::string(kMemoryLevels[static_cast<std::size_t>(l.level)].second),
                   format(as_bytes(l.reads_bytes)), format(as_bytes(l.writes_bytes)),
                   format_binary(as_bytes(l.footprint_bytes)), room(l.capacity_bytes)});
    }
    return table.to_string();
}

std::string tensors_text(const Computation& c, const Analysis& a) {
    Table table({"tensor", "HBM read", "HBM written", "L2 read", "L2 written", "SRAM read", "SRAM written"});
    for (const TensorTraffic& t : a.tensors) {
        std::vector<std::string> row{c.tensors[t.tensor].name};
        const ElementType type = c.tensors[t.tensor].type;
        std::int64_t sum = 0;
        for (std::size_t l = 0; l < 3; ++l) {
            sum += t.words[l].reads + t.words[l].writes;
            row.push_back(format(as_bytes(word_bytes(t.words[l].reads, type))));
            row.push_back(format(as_bytes(word_bytes(t.words[l].writes, type))));
        }
        if (sum > 0) table.add(std::move(row));
    }
    return table.to_string();
}

std::string kernels_text(const Analysis& a) {
    Table table(
        {"kernel", "blocks", "a SM", "waves", "SRAM", "registers", "HBM", "floor", "expected", "binds"});
    for (const KernelAnalysis& k : a.kernels) {
        table.add({k.name, format_count(static_cast<double>(k.blocks)), std::to_string(k.blocks_per_sm),
                   format_count(static_cast<double>(k.waves)), format_binary(as_bytes(k.sram_bytes)),
                   format_binary(as_bytes(k.registers_bytes)), format(as_bytes(k.hbm_bytes)), format(k.floor),
                   format(k.expected), k.bound});
    }
    return table.to_string();
}

std::string tiles_text(const Mapping& m) {
    std::string text;
    for (const TileFactor& t : m.tiles)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", t.name, t.value);
    return text.empty() ? "none" : text;
}

std::string search_text(const SearchResult& s) {
    if (!s.found) return "search: no tiling of this nest fits the device\n";
    std::string text = fmt::format(
        "search: best of {} tilings and orders ({} too large), {} kernels analysed; ",
        format_count(static_cast<double>(s.tilings)), format_count(static_cast<double>(s.too_large)),
        format_count(static_cast<double>(s.analysed)));
    return text + (s.proven ? "proven: none is expected to be faster\n"
                            : fmt::format("not proven: none is faster than {}, {} away\n", format(s.bound),
                                          percent(s.gap)));
}

std::string text_of(const MapAnswer& a) {
    const Analysis& n = a.analysis();
    std::string text =
        fmt::format("{}: {}, on {}\n", a.given.nest.mapping.name, a.given.nest.mapping.title, a.device.name);
    for (const LoopDimension& d : a.given.nest.computation.dimensions)
        text += fmt::format("{}{} {}", d.name == a.given.nest.computation.dimensions[0].name ? "" : ", ",
                            d.name, format_count(static_cast<double>(d.size)));
    text += fmt::format("; tiles: {}\n", tiles_text(a.mapping_used()));
    if (a.searched) text += search_text(*a.searched);
    if (a.searched && !a.searched->found) return text;
    text += "\n" + levels_text(n) + "\n" + tensors_text(a.given.nest.computation, n) + "\n" + kernels_text(n);
    text += fmt::format("\n{} of products, {} vector operations ({} of them rescaling, {} repeated)\n",
                        format(Flops(static_cast<double>(n.product_flop))),
                        format_count(static_cast<double>(n.vector_operations)),
                        format_count(static_cast<double>(n.rescale_operations)),
                        format_count(static_cast<double>(n.recomputed_operations)));
    text += fmt::format("HBM {} where {} are compulsory: {} FLOP/B; L2 absorbs {} of what the SMs ask for\n",
                        format(as_bytes(n.hbm_bytes)), format(as_bytes(n.compulsory_bytes)),
                        format_number(ratio(n.product_flop, n.hbm_bytes)), percent(absorbed(n)));
    text += fmt::format("floor {}, expected {}, binds: {}{}\n", format(n.floor), format(n.expected), n.bound,
                        n.fits ? "" : "; DOES NOT FIT");
    if (a.beside) {
        MappedAnalysis used = a.given;
        if (a.searched) used = {{a.given.nest.computation, a.searched->best}, a.searched->analysis};
        text += "\n" + side_by_side(outline(*a.beside, a.device), outline(used, a.device));
    }
    return text;
}

Json tensors_json(const Computation& c, const Analysis& a) {
    Json all = Json::array();
    for (const TensorTraffic& t : a.tensors) {
        Json levels = Json::object();
        for (const auto& [level, name] : kMemoryLevels) {
            const Moved& m = t.words[static_cast<std::size_t>(level)];
            const ElementType type = c.tensors[t.tensor].type;
            levels[std::string(name)] = {{"reads_words", m.reads},
                                         {"writes_words", m.writes},
                                         {"reads_bytes", word_bytes(m.reads, type)},
                                         {"writes_bytes", word_bytes(m.writes, type)}};
        }
        all.push_back({{"name", c.tensors[t.tensor].name},
                       {"type", to_string(c.tensors[t.tensor].type)},
                       {"levels", levels}});
    }
    return all;
}

Json analysis_json(const Computation& c, const Mapping& m, const Analysis& a) {
    Json json;
    json["tiles"] = Json::object();
    for (const TileFactor& t : m.tiles) json["tiles"][t.name] = t.value;
    json["levels"] = Json::array();
    for (const LevelTraffic& l : a.levels) {
        Json level = {{"name", kMemoryLevels[static_cast<std::size_t>(l.level)].second},
                      {"reads_bytes", l.reads_bytes},
                      {"writes_bytes", l.writes_bytes},
                      {"footprint_bytes", l.footprint_bytes},
                      {"capacity_bytes", l.capacity_bytes}};
        if (l.capacity_bytes == 0) level["capacity_bytes"] = nullptr;
        json["levels"].push_back(std::move(level));
    }
    json["flop"] = a.product_flop;
    json["vector_operations"] = a.vector_operations;
    json["rescale_operations"] = a.rescale_operations;
    json["recomputed_operations"] = a.recomputed_operations;
    json["hbm_bytes"] = a.hbm_bytes;
    json["compulsory_bytes"] = a.compulsory_bytes;
    json["l2_absorbed_fraction"] = absorbed(a);
    json["intensity_flop_per_byte"] = ratio(a.product_flop, a.hbm_bytes);
    json["floor_s"] = a.floor.in(second);
    json["expected_s"] = a.expected.in(second);
    json["fits"] = a.fits;
    json["bound"] = a.bound;
    json["tensors"] = tensors_json(c, a);
    json["kernels"] = Json::array();
    for (const KernelAnalysis& k : a.kernels) {
        json["kernels"].push_back({{"name", k.name},
                                   {"blocks", k.blocks},
                                   {"blocks_per_sm", k.blocks_per_sm},
                                   {"waves", k.waves},
                                   {"sram_bytes", k.sram_bytes},
                                   {"registers_bytes", k.registers_bytes},
                                   {"flop", k.product_flop},
                                   {"hbm_bytes", k.hbm_bytes},
                                   {"l2_bytes", k.l2_bytes},
                                   {"floor_s", k.floor.in(second)},
                                   {"expected_s", k.expected.in(second)},
                                   {"bound", k.bound}});
    }
    return json;
}

}  // namespace

Report report(const MapAnswer& a) {
    Report r;
    r.rows = "levels";
    r.json = envelope("map");
    Json& inputs = r.json["inputs"];
    inputs = {{"mapping", a.mapping}, {"hw", a.hw}, {"set", a.set}, {"sizes", Json::object()}};
    for (const LoopDimension& d : a.given.nest.computation.dimensions) inputs["sizes"][d.name] = d.size;
    r.json["name"] = a.given.nest.mapping.name;
    r.json["computation"] = a.given.nest.computation.name;
    const bool none = a.searched && !a.searched->found;
    if (none) r.json["fits"] = false;
    if (!none) r.json.update(analysis_json(a.given.nest.computation, a.mapping_used(), a.analysis()));
    if (a.searched) {
        const SearchResult& s = *a.searched;
        r.json["search"] = {
            {"found", s.found},         {"tilings", s.tilings},
            {"too_large", s.too_large}, {"analysed", s.analysed},
            {"proven", s.proven},       {"bound_s", s.bound.in(second)},
            {"gap_fraction", s.gap},    {"given_expected_s", a.given.analysis.expected.in(second)}};
    }
    if (a.beside) {
        const Computation& c = a.beside->nest.computation;
        r.json["beside"] = {{"name", a.beside->nest.mapping.name}};
        r.json["beside"].update(analysis_json(c, a.beside->nest.mapping, a.beside->analysis));
        r.json["outline"] = outline(a.given, a.device);
        r.json["beside"]["outline"] = outline(*a.beside, a.device);
    }
    r.text = text_of(a);
    return r;
}

Report report(const CandidatesAnswer& a) {
    Report r;
    r.rows = "candidates";
    r.json = envelope("map", a.question);
    r.json["inputs"]["phase"] = a.prefill ? "prefill" : "decode";
    r.json["inputs"]["batch"] = a.batch;
    r.json["inputs"]["tokens"] = a.tokens;
    r.json["step_hbm_bytes"] = a.step_bytes.in(byte);
    r.json["candidates"] = Json::array();
    Table table(
        {"intermediate", "from", "to", "x", "bytes", "saved", "in between", "tile", "fits", "counted"});
    for (const FusionCandidate& c : a.candidates) {
        const auto between = kBetween[static_cast<std::size_t>(c.between)].second;
        r.json["candidates"].push_back({{"name", c.name},
                                        {"producer", c.producer},
                                        {"consumer", c.consumer},
                                        {"count", c.count},
                                        {"bytes", c.bytes.in(byte)},
                                        {"passes", c.passes},
                                        {"saved_bytes", c.saved.in(byte)},
                                        {"between", between},
                                        {"streamable", c.between != Between::sum},
                                        {"tile_bytes", c.tile.in(byte)},
                                        {"tile_fits", c.fits},
                                        {"in_step", c.in_step}});
        table.add({c.name, c.producer, c.consumer, format_number(c.count), format(c.bytes), format(c.saved),
                   std::string(between), format_binary(c.tile, 3), c.fits ? "yes" : "no",
                   c.in_step ? "yes" : "no"});
    }
    r.text = heading(a.question) + "\n" +
             fmt::format("{} of {} x {} tokens moves {}; intermediates that could stay on the chip:\n\n",
                         a.prefill ? "prefill" : "decode", a.batch,
                         format_count(static_cast<double>(a.tokens)), format(a.step_bytes)) +
             table.to_string() +
             "\n\"counted\" is no where engines fuse already, so that the step's bytes do not include it\n";
    return r;
}

}  // namespace headroom
