// SPDX-License-Identifier: Apache-2.0
#include "io/hardware_yaml.h"

#include <filesystem>

#include <fmt/core.h>

namespace headroom {
namespace fs = std::filesystem;
namespace {

constexpr double kRounding = 1.01;  // datasheets print three digits

constexpr Dimension kByte{.byte = 1};
constexpr Dimension kBandwidth{.byte = 1, .second = -1};
constexpr Dimension kFrequency{.second = -1};
constexpr Dimension kFlopRate{.flop = 1, .second = -1};
constexpr Dimension kPower{.second = -1, .joule = 1};

template <Dimension D>
Fact<Quantity<D>> required(MapReader& map, std::string_view key, const std::vector<Source>& sources) {
    return map.fact<D>(key, sources, true).value_or(Fact<Quantity<D>>{});
}

// A map of data type to figure; an unknown type is a fault.
template <class T, class Read>
std::map<ElementType, Fact<T>> by_type(MapReader& map, const Read& read) {
    std::map<ElementType, Fact<T>> found;
    for (const auto& [type, name] : kElementTypes) {
        if (!map.has(name)) {
            map.optional_map(name);
            continue;
        }
        if (auto fact = read(map, name)) found.emplace(type, std::move(*fact));
    }
    map.done();
    return found;
}

std::optional<Fact<double>> read_ceiling(MapReader& map, const CeilingParameter& p,
                                         const std::vector<Source>& sources) {
    const auto base = [](const auto& fact) {
        return Fact<double>{fact.value.base(), fact.source, fact.kind};
    };
    if (p.unit.empty()) return map.plain_fact(p.name, sources, false);
    if (p.unit == "us") {
        const auto fact = map.fact<Dimension{.second = 1}>(p.name, sources, false);
        return fact ? std::optional(base(*fact)) : std::nullopt;
    }
    const auto fact = map.fact<kBandwidth>(p.name, sources, false);
    return fact ? std::optional(base(*fact)) : std::nullopt;
}

MeasuredCeilings read_ceilings(MapReader map, const std::vector<Source>& sources) {
    MeasuredCeilings found;
    for (const CeilingParameter& p : ceiling_parameters()) {
        const auto fact = read_ceiling(map, p, sources);
        if (!fact) continue;
        if (fact->value < p.low || fact->value > p.high)
            map.fault(p.name, fmt::format("is outside {}..{} ({})", p.low, p.high, p.meaning));
        found.values.emplace(p.name, *fact);
    }
    map.done();
    return found;
}

/// The rates that decide what of a fit carries over to another device.
Peaks read_measured_on(MapReader map, const std::vector<Source>& sources) {
    Peaks p;
    p.sms = static_cast<int>(map.plain_fact("sms", sources, true).value_or(Fact<double>{}).value);
    p.clock = required<kFrequency>(map, "clock", sources).value;
    p.memory = required<kBandwidth>(map, "bandwidth", sources).value;
    map.done();
    return p;
}

Generation read_generation(const std::string& path) {
    Faults faults(path);
    MapReader root = MapReader::parse(read_file(path), faults);
    if (root.text("schema") != "headroom.generation/1") root.fault("schema", "is not headroom.generation/1");
    Generation g;
    g.name = root.text("name");
    g.title = root.text("title");
    g.sources = read_sources(root);
    g.l2_copies = root.plain_fact("l2_copies", g.sources, false);
    MapReader rates = root.map("matrix_flop_per_clock");
    g.matrix_flop_per_clock = by_type<double>(
        rates, [&](MapReader& map, std::string_view key) { return map.plain_fact(key, g.sources, true); });
    if (root.has("kernels_like")) {
        // Not measured: the kernels of another generation, as an estimate.
        const fs::path other = fs::path(path).parent_path() / (root.text("kernels_like") + ".yaml");
        if (!fs::exists(other) || fs::path(path) == other) {
            root.fault("kernels_like", "names no other file in generations/");
        } else {
            const Generation like = read_generation(other.string());
            g.kernels = like.kernels;
            g.measured_on = like.measured_on;
            g.own = like.own;
            for (MeasuredCeilings* all : {&g.kernels, &g.own})
                for (auto& [name, fact] : all->values) fact.kind = SourceKind::estimate;
        }
    }
    if (auto on = root.optional_map("measured_on")) g.measured_on = read_measured_on(*on, g.sources);
    if (auto kernels = root.optional_map("kernels")) {
        MeasuredCeilings& into = root.has("kernels_like") ? g.own : g.kernels;
        for (auto& [name, fact] : read_ceilings(*kernels, g.sources).values) into.values[name] = fact;
    }
    root.done();
    faults.finish();
    return g;
}

MemorySystem read_memory(MapReader map, const std::vector<Source>& sources) {
    MemorySystem m;
    m.nominal = required<kByte>(map, "nominal", sources);
    m.capacity = required<kByte>(map, "capacity", sources);
    m.bandwidth = required<kBandwidth>(map, "bandwidth", sources);
    m.bus_width = map.fact<kByte>("bus_width", sources, false);
    m.data_rate = map.fact<kBandwidth>("data_rate", sources, false);
    m.l2 = map.fact<kByte>("l2", sources, false);
    map.done();
    return m;
}

ComputeUnits read_compute(MapReader map, const std::vector<Source>& sources) {
    ComputeUnits c;
    c.sms = map.plain_fact("sms", sources, true).value_or(Fact<double>{});
    c.clock = required<kFrequency>(map, "clock", sources);
    c.sram_per_sm = map.fact<kByte>("sram_per_sm", sources, false);
    c.sram_per_block = map.fact<kByte>("sram_per_block", sources, false);
    c.registers_per_sm = map.fact<kByte>("registers_per_sm", sources, false);
    const auto rates = [&](MapReader& m, std::string_view key) {
        return m.fact<kFlopRate>(key, sources, true);
    };
    MapReader dense = map.map("dense");
    c.dense = by_type<FlopRate>(dense, rates);
    if (auto sparse = map.optional_map("sparse")) c.sparse = by_type<FlopRate>(*sparse, rates);
    map.done();
    return c;
}

std::optional<Link> read_link(MapReader& links, std::string_view key, const std::vector<Source>& sources) {
    auto map = links.optional_map(key);
    if (!map) return std::nullopt;
    Link link;
    link.name = map->text("name");
    link.per_direction = required<kBandwidth>(*map, "per_direction", sources);
    link.domain = map->plain_fact("domain", sources, false);
    map->done();
    return link;
}

void check_physics(const Hardware& h, MapReader memory, MapReader dense) {
    if (h.memory.bandwidth.value <= Bandwidth{}) memory.fault("bandwidth", "must be above zero");
    if (h.memory.capacity.value <= Bytes{}) memory.fault("capacity", "must be above zero");
    if (h.memory.bus_width && h.memory.data_rate && h.memory.bandwidth.kind != SourceKind::option) {
        // pins x rate per pin; a width of n bits is n pins
        const double pins = h.memory.bus_width->value.in(Bytes(0.125));
        const Bandwidth most = pins * h.memory.data_rate->value;
        if (h.memory.bandwidth.value > kRounding * most) {
            memory.fault("bandwidth", fmt::format("{} is above bus width x data rate = {}",
                                                  format(h.memory.bandwidth.value), format(most)));
        }
    }
    for (const auto& [type, peak] : h.compute.dense) {
        const auto unit = h.generation.matrix_flop_per_clock.find(type);
        if (unit == h.generation.matrix_flop_per_clock.end() || peak.kind == SourceKind::option) continue;
        const FlopRate most = h.compute.sms.value * unit->second.value * flop * h.compute.clock.value;
        if (peak.value > kRounding * most) {
            dense.fault(
                to_string(type),
                fmt::format(
                    "{} is above SMs x clock x widest matrix unit of {} = {}; is it the sparse figure?",
                    format(peak.value), h.generation.name, format(most)));
        }
    }
}

}  // namespace

Hardware read_hardware(const std::string& path, const std::string& data, const Overrides& overrides) {
    Faults faults(path);
    MapReader root = MapReader::parse(read_file(path), faults, &overrides);
    if (root.text("schema") != "headroom.hardware/1") root.fault("schema", "is not headroom.hardware/1");
    Hardware h;
    h.file = path;
    h.name = root.text("name");
    h.title = root.text("title");
    h.vendor = root.text("vendor");
    h.sources = read_sources(root);
    const std::string generation = root.text("generation");
    h.memory = read_memory(root.map("memory"), h.sources);
    MapReader compute = root.map("compute");
    h.compute = read_compute(compute, h.sources);
    if (auto links = root.optional_map("links")) {
        h.scale_up = read_link(*links, "scale_up", h.sources);
        h.pcie = read_link(*links, "pcie", h.sources);
        h.network = read_link(*links, "network", h.sources);
        links->done();
    }
    if (auto power = root.optional_map("power")) {
        h.tdp = power->fact<kPower>("tdp", h.sources, true);
        power->done();
    }
    if (auto ceilings = root.optional_map("ceilings")) h.ceilings = read_ceilings(*ceilings, h.sources);
    const fs::path beside = fs::path(path).parent_path() / "generations" / (generation + ".yaml");
    const fs::path shipped = fs::path(data) / "hwprofiles" / "generations" / (generation + ".yaml");
    if (fs::exists(beside)) {
        h.generation = read_generation(beside.string());
    } else if (fs::exists(shipped)) {
        h.generation = read_generation(shipped.string());
    } else {
        root.fault("generation", fmt::format("no \"{}\" in hwprofiles/generations/", generation));
    }
    root.done();
    if (!faults.any()) check_physics(h, root.map("memory"), root.map("compute").map("dense"));
    faults.finish();
    h.reach = ceilings_of(h);
    return h;
}

}  // namespace headroom
