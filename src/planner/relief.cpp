// SPDX-License-Identifier: Apache-2.0
#include "planner/relief.h"

#include <algorithm>

namespace headroom {
namespace {

void halve(Interval& i) { i = {i.low / 2, i.expected / 2, i.high / 2, i.source}; }

/// Halves the device's kernel parameters whose name passes.
template <class Passes>
void halve_ceilings(Hardware& hardware, const Passes& passes) {
    for (const CeilingParameter& p : ceiling_parameters()) {
        if (passes(p.name)) hardware.ceilings.values[p.name].value = p.get(hardware.reach) / 2;
    }
}

bool is_link_latency(const std::string& name) {
    return name == "collective.base" || name == "collective.hop" || name == "collective.bulk" ||
           name == "collective.one_shot";
}

bool is_launch(const std::string& name) { return name.ends_with("launch") || name == "stream.issue"; }

// What a change may touch.
struct Parts {
    Model model;
    Hardware hardware;
    Engine engine;
};

struct Change {
    const char* resource;
    const char* change;
    void (*apply)(Parts&);
};

constexpr Change kChanges[] = {
    {"memory bandwidth", "x2", [](Parts& in) { in.hardware.memory.bandwidth.value *= 2; }},
    {"memory capacity", "x2", [](Parts& in) { in.hardware.memory.capacity.value *= 2; }},
    {"compute", "x2",
     [](Parts& in) {
         for (auto& [type, peak] : in.hardware.compute.dense) peak.value *= 2;
     }},
    {"links", "x2",
     [](Parts& in) {
         for (auto* link : {&in.hardware.scale_up, &in.hardware.pcie, &in.hardware.network}) {
             if (*link) (*link)->per_direction.value *= 2;
         }
         halve_ceilings(in.hardware, is_link_latency);
     }},
    {"KV bytes", "/2",
     [](Parts& in) {
         // Half the bits per element, whatever they are now.
         StorageFormat half = kv_format(in.model);
         half.element = bits(half.element) > 8 ? ElementType::fp8 : ElementType::fp4;
         in.model.kv_format = half;
     }},
    {"launch and host overhead", "/2",
     [](Parts& in) {
         halve(in.engine.time.per_step);
         halve(in.engine.time.per_sequence);
         halve(in.engine.time.per_prompt);
         halve_ceilings(in.hardware, is_launch);
     }},
    {"block size", "/2",
     [](Parts& in) {
         double& tokens = in.engine.memory.block_tokens.value;
         tokens = std::max(1.0, tokens / 2);
     }},
    {"scheduler limits", "x2",
     [](Parts& in) {
         in.engine.scheduler.max_sequences.value *= 2;
         in.engine.scheduler.max_batched_tokens.value *= 2;
         in.engine.memory.logits_copies.value /= 2;  // the activation reserve stays as it is
         in.engine.memory.token_factor.value /= 2;
     }},
};

constexpr Change kMoreSequences{"", "", [](Parts& in) { in.engine.scheduler.max_sequences.value *= 2; }};

}  // namespace

std::vector<Relief> relief(const PlanInputs& inputs, const Candidate& candidate) {
    // Requests per second that all replicas of a group sustain.
    const auto carried = [&](const Group& g, PoolRole role, const Change* change) {
        Parts parts{inputs.variants[candidate.variant].model, inputs.offers[g.offer].hardware,
                    engine_of(inputs, g)};
        if (change != nullptr) {
            change->apply(parts);
            parts.hardware.reach = ceilings_of(parts.hardware);
        }
        const Shard part = shard(parts.model, g.deployment);
        return static_cast<double>(g.replicas) *
               sustainable_rate(part, parts.hardware, parts.engine, inputs.load, role);
    };
    const auto system = [&](const Change* change) {
        if (!candidate.prefill) return carried(candidate.decode, PoolRole::both, change);
        return min(carried(*candidate.prefill, PoolRole::prefill, change),
                   carried(candidate.decode, PoolRole::decode, change));
    };
    const Frequency today = system(nullptr);
    std::vector<Relief> found;
    for (const Change& change : kChanges)
        found.push_back({change.resource, change.change, system(&change) / today});
    // A wider limit need not be used: longer steps of prompts can hold up the lanes of a pipeline.
    Relief& limits = found.back();
    limits.throughput_gain = std::max({1.0, limits.throughput_gain, system(&kMoreSequences) / today});
    std::stable_sort(found.begin(), found.end(),
                     [](const Relief& a, const Relief& b) { return a.throughput_gain > b.throughput_gain; });
    return found;
}

}  // namespace headroom
