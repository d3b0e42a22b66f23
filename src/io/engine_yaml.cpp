// SPDX-License-Identifier: Apache-2.0
#include "io/engine_yaml.h"

#include "spec/precision.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {
namespace {

Fact<double> figure(MapReader& map, std::string_view key, const std::vector<Source>& sources, double low,
                    double high) {
    auto fact = map.plain_fact(key, sources, true).value_or(Fact<double>{});
    if (fact.value < low || fact.value > high) {
        map.fault(key, fmt::format("{} is out of range; {} to {} is allowed", fact.value, low, high));
    }
    return fact;
}

std::map<int, Fact<Bytes>> read_runtime(MapReader map, const std::vector<Source>& sources) {
    std::map<int, Fact<Bytes>> found;
    for (const int tp : {1, 2, 4, 8, 16}) {
        const std::string key = std::to_string(tp);
        if (auto fact = map.fact<Dimension{.byte = 1}>(key, sources, tp == 1)) found.emplace(tp, *fact);
    }
    map.done();
    return found;
}

std::vector<ExpertPadding> read_padding(MapReader& memory, const std::vector<Source>& sources) {
    std::vector<ExpertPadding> found;
    for (MapReader& map : memory.list("expert_padding")) {
        ExpertPadding p;
        p.format = map.text("format");
        if (!storage_format(p.format)) map.fault("format", "is no storage format");
        p.generations = map.texts("generations");
        const auto multiple = [&](const char* key) { return static_cast<int>(map.count(key, 1, 4096, 1)); };
        p.hidden = multiple("hidden");
        p.intermediate = multiple("intermediate");
        p.outputs = multiple("outputs");
        p.inputs = multiple("inputs");
        p.scale_outputs = multiple("scale_outputs");
        p.loaded_scales = map.flag("loaded_scales", false);
        p.source = map.text("source");
        const auto known = [&](const Source& s) { return s.id == p.source; };
        if (std::none_of(sources.begin(), sources.end(), known)) map.fault("source", "is none of `sources`");
        map.done();
        found.push_back(std::move(p));
    }
    return found;
}

}  // namespace

Engine read_engine(const std::string& path, const Overrides& overrides) {
    Faults faults(path);
    MapReader root = MapReader::parse(read_file(path), faults, &overrides);
    if (root.text("schema") != "headroom.engine/1") root.fault("schema", "is not headroom.engine/1");
    Engine e;
    e.file = path;
    e.name = root.text("name");
    e.title = root.text("title");
    e.version = root.text("version");
    e.since = root.text("since", e.version);
    e.sources = read_sources(root);

    MapReader memory = root.map("memory");
    e.memory.utilisation = figure(memory, "utilisation", e.sources, 0.01, 1);
    e.memory.of_free = memory.flag("utilisation_of_free", false);
    e.memory.block_tokens = figure(memory, "block_tokens", e.sources, 1, 4096);
    e.memory.logits_copies = figure(memory, "logits_copies", e.sources, 0, 100);
    e.memory.token_factor = figure(memory, "token_factor", e.sources, 0, 100);
    e.memory.activation_peak = memory.fact<Dimension{.byte = 1}>("activation_peak", e.sources, false);
    e.memory.window_admission = memory.flag("window_admission", false);
    e.memory.runtime_by_tp = read_runtime(memory.map("runtime_by_tp"), e.sources);
    e.memory.runtime_without_link =
        memory.fact<Dimension{.byte = 1}>("runtime_without_link", e.sources, false);
    e.memory.expert_padding = read_padding(memory, e.sources);
    e.memory.allocation_granule = memory.fact<Dimension{.byte = 1}>("allocation_granule", e.sources, false);
    e.memory.position_tables = memory.flag("position_tables", false);
    memory.done();

    MapReader scheduler = root.map("scheduler");
    e.scheduler.max_sequences = figure(scheduler, "max_sequences", e.sources, 1, 1e9);
    e.scheduler.max_batched_tokens = figure(scheduler, "max_batched_tokens", e.sources, 1, 1e9);
    e.scheduler.chunked_prefill = scheduler.flag("chunked_prefill", true);
    scheduler.done();

    MapReader time = root.map("time");
    constexpr Dimension seconds{.second = 1};
    e.time.per_step = time.interval("per_step", e.sources, seconds);
    e.time.per_sequence = time.interval("per_sequence", e.sources, seconds);
    e.time.per_prompt = time.interval("per_prompt", e.sources, seconds);
    if (time.has("quantise")) e.time.quantise = time.interval("quantise", e.sources, seconds);
    e.time.overlap = time.number("overlap", 1, 16, 1);
    e.time.per_request = time.interval("per_request", e.sources, seconds);
    e.time.prompt_stretch = time.number("prompt_stretch", 1, 2, 1);
    e.time.per_expert_layer = time.quantity<seconds>("per_expert_layer", Seconds{}).in(second);
    if (time.has("first_token")) {
        e.time.first_token = time.interval("first_token", e.sources);
        const Interval& i = *e.time.first_token;
        if (i.low > 1 || i.expected != 1 || i.high < 1)
            time.fault("first_token",
                       "is measured over predicted: low at most 1, expected 1, high at least 1");
    }
    e.time.paged_attention_cost = time.number("paged_attention_cost", 0, 1, 0);
    e.time.graphs = time.flag("graphs", true);
    time.done();
    root.done();
    faults.finish();
    return e;
}

}  // namespace headroom
