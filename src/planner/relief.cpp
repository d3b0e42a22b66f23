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

}  // namespace

std::vector<Relief> relief(const PlanInputs& inputs, const Candidate& candidate) {
    struct Change {
        const char* resource;
        const char* change;
        void (*apply)(PlanInputs&);
    };
    static constexpr Change kChanges[] = {
        {"memory bandwidth", "x2", [](PlanInputs& in) { in.hardware.memory.bandwidth.value *= 2; }},
        {"memory capacity", "x2", [](PlanInputs& in) { in.hardware.memory.capacity.value *= 2; }},
        {"compute", "x2",
         [](PlanInputs& in) {
             for (auto& [type, peak] : in.hardware.compute.dense) peak.value *= 2;
         }},
        {"links", "x2",
         [](PlanInputs& in) {
             for (auto* link : {&in.hardware.scale_up, &in.hardware.pcie, &in.hardware.network}) {
                 if (*link) (*link)->per_direction.value *= 2;
             }
             halve_ceilings(in.hardware, is_link_latency);
         }},
        {"KV bytes", "/2",
         [](PlanInputs& in) {
             // Half the bits per element, whatever they are now.
             StorageFormat half = kv_format(in.model);
             half.element = bits(half.element) > 8 ? ElementType::fp8 : ElementType::fp4;
             in.model.kv_format = half;
         }},
        {"launch and host overhead", "/2",
         [](PlanInputs& in) {
             halve(in.engine.time.per_step);
             halve(in.engine.time.per_sequence);
             halve(in.engine.time.per_prompt);
             halve_ceilings(in.hardware, is_launch);
         }},
        {"scheduler limits", "x2",
         [](PlanInputs& in) {
             in.engine.scheduler.max_sequences.value *= 2;
             in.engine.scheduler.max_batched_tokens.value *= 2;
             in.engine.memory.logits_copies.value /= 2;  // the activation reserve stays as it is
             in.engine.memory.token_factor.value /= 2;
         }},
    };
    std::vector<Relief> found;
    for (const Change& change : kChanges) {
        PlanInputs changed = inputs;
        change.apply(changed);
        changed.hardware.reach = ceilings_of(changed.hardware);
        const SteadyState s = steady_state(shard(changed.model, candidate.deployment), changed.hardware,
                                           changed.engine, changed.load);
        found.push_back({change.resource, change.change, s.sustainable / candidate.sustainable});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Relief& a, const Relief& b) { return a.throughput_gain > b.throughput_gain; });
    return found;
}

}  // namespace headroom
