// SPDX-License-Identifier: Apache-2.0
#include "io/workload_yaml.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
constexpr Dimension kFrequency{.second = -1};

enum class LengthKind { fixed, log_normal, quantiles, mixture };
constexpr std::array kLengthKinds{
    std::pair{LengthKind::fixed, std::string_view("fixed")},
    std::pair{LengthKind::log_normal, std::string_view("log-normal")},
    std::pair{LengthKind::quantiles, std::string_view("quantiles")},
    std::pair{LengthKind::mixture, std::string_view("mixture")},
};

enum class Process { poisson, gamma, bursts, curve };
constexpr std::array kProcesses{
    std::pair{Process::poisson, std::string_view("poisson")},
    std::pair{Process::gamma, std::string_view("gamma")},
    std::pair{Process::bursts, std::string_view("bursts")},
    std::pair{Process::curve, std::string_view("curve")},
};

// Every mapping that holds figures names where they are from.
void check_source(MapReader& map, const std::vector<Source>& sources) {
    const std::string id = map.text("source");
    if (id.empty() ||
        std::any_of(sources.begin(), sources.end(), [&](const Source& s) { return s.id == id; })) {
        return;
    }
    std::vector<std::string> ids;
    for (const Source& s : sources) ids.push_back(s.id);
    map.fault("source", fmt::format("no source \"{}\" under sources", id), did_you_mean(id, ids));
}

QuantileLength read_quantiles(MapReader& map) {
    QuantileLength length;
    MapReader at = map.map("at");
    for (const auto& [share, tokens] : at.scalars()) {
        const auto s = parse_number(share);
        const auto t = parse_number(tokens);
        if (!std::holds_alternative<double>(s) || !std::holds_alternative<double>(t)) {
            at.fault(share, "needs a share and a number of tokens");
            continue;
        }
        const auto point = std::pair{std::get<double>(s), std::get<double>(t)};
        const bool rises = length.points.empty() || (point.first > length.points.back().first &&
                                                     point.second >= length.points.back().second);
        if (!rises) at.fault(share, "shares and lengths must rise");
        if (point.second < 1 || point.second > static_cast<double>(kMostTokens)) {
            at.fault(share, "a length is at least 1 token");
        }
        length.points.push_back(point);
    }
    at.done();
    if (length.points.size() < 2 || length.points.front().first != 0 || length.points.back().first != 1) {
        map.fault("at", "needs shares from 0 to 1, such as {0: 1, 0.5: 200, 1: 4000}");
        length.points = {{0, 1}, {1, 1}};
    }
    return length;
}

PlainLength read_plain(MapReader& map, LengthKind kind) {
    if (kind == LengthKind::quantiles) return read_quantiles(map);
    if (kind == LengthKind::log_normal) {
        LogNormalLength length;
        length.p50 = map.number("p50", 1, kMostTokens);
        length.p99 = map.number("p99", 1, kMostTokens);
        length.least = map.count("least", 1, kMostTokens, length.least);
        length.most = map.count("most", 1, kMostTokens, length.most);
        if (length.p99 < length.p50) map.fault("p99", "is below p50");
        if (length.most < length.least) map.fault("most", "is below least");
        return length;
    }
    return FixedLength{map.count("tokens", 0, kMostTokens)};
}

Length read_length(MapReader map, const std::vector<Source>& sources, bool cite) {
    const auto kind = map.choice<LengthKind>("kind", kLengthKinds);
    Length length;
    if (kind == LengthKind::mixture) {
        MixtureLength mixture;
        for (MapReader& part : map.list("parts")) {
            const double weight = part.number("weight", 0, 1e9);
            const auto of = part.choice<LengthKind>("kind", kLengthKinds);
            if (of == LengthKind::mixture) part.fault("kind", "a mixture of mixtures; list the parts in one");
            mixture.parts.emplace_back(weight, read_plain(part, of));
            part.done();
        }
        double sum = 0;
        for (const auto& part : mixture.parts) sum += part.first;
        if (!(sum > 0)) map.fault("parts", "needs parts whose weights are above zero");
        length = std::move(mixture);
    } else {
        length = std::visit([](auto plain) -> Length { return plain; }, read_plain(map, kind));
    }
    if (cite) check_source(map, sources);
    map.done();
    return length;
}

CurveArrivals read_curve(MapReader& map) {
    CurveArrivals curve;
    MapReader at = map.map("at");
    for (const auto& [time, rate] : at.scalars()) {
        const auto t = parse_quantity(time, Dimension{.second = 1});
        const auto r = parse_quantity(rate, kFrequency);
        for (const auto* parsed : {&t, &r}) {
            if (const auto* fault = std::get_if<ParseFault>(parsed)) {
                at.fault(time, fault->message, fault->suggestion);
            }
        }
        if (std::holds_alternative<ParseFault>(t) || std::holds_alternative<ParseFault>(r)) continue;
        const auto point = std::pair{Seconds(std::get<double>(t)), Frequency(std::get<double>(r))};
        if (!curve.points.empty() && point.first <= curve.points.back().first) {
            at.fault(time, "times must rise");
        }
        if (point.second < Frequency{}) at.fault(time, "a rate is not below zero");
        curve.points.push_back(point);
    }
    at.done();
    curve.period = map.quantity<Dimension{.second = 1}>("period");
    if (curve.points.empty() || curve.points.front().first != Seconds{}) {
        map.fault("at", "needs times from 0 on, such as {0: 2 /s, 1 h: 8 /s}");
        curve.points = {{Seconds{}, hertz}};
    }
    if (curve.period <= curve.points.back().first) map.fault("period", "must be after the last point");
    return curve;
}

Arrivals read_process(MapReader& map) {
    switch (map.choice<Process>("process", kProcesses)) {
        case Process::poisson:
            return PoissonArrivals{map.quantity<kFrequency>("rate")};
        case Process::gamma: {
            const Frequency rate = map.quantity<kFrequency>("rate");
            return GammaArrivals{rate, map.number("cv", 0.01, 100)};
        }
        case Process::bursts: {
            BurstArrivals bursts;
            bursts.on_rate = map.quantity<kFrequency>("on_rate");
            bursts.off_rate = map.quantity<kFrequency>("off_rate", Frequency{});
            bursts.mean_on = map.quantity<Dimension{.second = 1}>("mean_on");
            bursts.mean_off = map.quantity<Dimension{.second = 1}>("mean_off");
            if (bursts.mean_on <= Seconds{}) map.fault("mean_on", "must be above zero");
            if (bursts.mean_off <= Seconds{}) map.fault("mean_off", "must be above zero");
            return bursts;
        }
        case Process::curve:
            return read_curve(map);
    }
    return PoissonArrivals{hertz};
}

Arrivals read_arrivals(MapReader map, const std::vector<Source>& sources) {
    const Arrivals arrivals = read_process(map);
    if (!(mean_rate(arrivals) > Frequency{})) map.fault("process", "the mean rate must be above zero");
    check_source(map, sources);
    map.done();
    return arrivals;
}

void read_sharing(MapReader& root, Workload& w) {
    if (auto system = root.optional_map("system")) {
        w.system.prompts = static_cast<int>(system->count("prompts", 1, 1000000, 1));
        w.system.skew = system->number("skew", 0, 10, 1);
        w.system.tokens = read_length(system->map("tokens"), w.sources, false);
        check_source(*system, w.sources);
        system->done();
    }
    if (auto turns = root.optional_map("turns")) {
        w.turns.mean = turns->number("mean", 1, 10000);
        w.turns.gap = turns->quantity<Dimension{.second = 1}>("gap");
        w.turns.max_context = turns->count("max_context", 1, kMostTokens, w.turns.max_context);
        check_source(*turns, w.sources);
        turns->done();
    }
    w.prefix_block = static_cast<int>(root.count("prefix_block", 1, 1 << 20, w.prefix_block));
    w.samples = static_cast<int>(root.count("samples", 1, 4096, 1));
    if (root.has("beams")) {
        if (w.samples > 1) root.fault("beams", "samples and beams exclude each other");
        w.samples = static_cast<int>(root.count("beams", 1, 4096));
        w.beam = true;
    } else {
        root.count("beams", 1, 4096, 1);
    }
}

}  // namespace

Workload parse_workload(std::string_view text, const std::string& origin, const Overrides& overrides) {
    Faults faults(origin);
    MapReader root = MapReader::parse(text, faults, &overrides);
    if (root.text("schema") != "headroom.workload/1") root.fault("schema", "is not headroom.workload/1");
    Workload w;
    w.file = origin;
    w.name = root.text("name");
    w.title = root.text("title");
    w.sources = read_sources(root);
    w.arrivals = read_arrivals(root.map("arrivals"), w.sources);
    w.input = read_length(root.map("input"), w.sources, true);
    w.output = read_length(root.map("output"), w.sources, true);
    read_sharing(root, w);
    w.requests = root.count("requests", 1, std::int64_t{1} << 40, w.requests);
    w.seed = static_cast<std::uint64_t>(root.count("seed", 0, std::int64_t{1} << 52, 1));
    root.done();
    faults.finish();
    return w;
}

Workload read_workload(const std::string& path, const Overrides& overrides) {
    return parse_workload(read_file(path), path, overrides);
}

}  // namespace headroom
