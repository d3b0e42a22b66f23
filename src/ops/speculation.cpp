// SPDX-License-Identifier: Apache-2.0
#include "ops/speculation.h"

#include "ops/step.h"
#include "ops/tensor.h"

#include <algorithm>

namespace headroom {
namespace {

const std::optional<Speculation>& speculation_of(const Shard& shard) {
    return shard.stages.back().speculation;
}

bool has_experts(const Model& model) {
    return std::any_of(model.kinds.begin(), model.kinds.end(), [](const Layer& l) {
        return std::holds_alternative<MixtureOfExperts>(l.feed_forward);
    });
}

}  // namespace

Interval tokens_gained(const Model& model) {
    if (!model.speculation) return {1, 1, 1, ""};
    const Speculation& s = *model.speculation;
    return {tokens_gained(s.guesses, s.accept_low), tokens_gained(s.guesses, s.accept),
            tokens_gained(s.guesses, s.accept_high), ""};
}

Interval tokens_gained(const Shard& shard) { return tokens_gained(shard.stages.back()); }

Model prediction_draft(const Model& model) {
    Model draft = model;
    draft.speculation.reset();
    draft.layout.assign(1, model.prediction.kind);
    draft.extras = model.prediction.extras;
    draft.prediction = {};
    return draft;
}

Deployment draft_deployment(const Model& draft, const Deployment& d) {
    Deployment on = d;
    on.pp = 1;
    if (!has_experts(draft)) on.ep = 1;
    return on;
}

std::string speculation_fault(const Model& model, const Deployment& d) {
    if (!model.speculation || !model.speculation->draft) return "";
    const Model& draft = *model.speculation->draft;
    if (draft.vocabulary != model.vocabulary && !model.speculation->own_layers) {
        // Padding differs within a family; another tokenizer differs by more.
        const auto [less, more] = std::minmax(draft.vocabulary, model.vocabulary);
        if (static_cast<double>(more - less) > 0.02 * static_cast<double>(more))
            return "the draft " + draft.name + " has another vocabulary (" +
                   std::to_string(draft.vocabulary) + " tokens, not " + std::to_string(model.vocabulary) +
                   ")";
    }
    const std::vector<std::string> faults = deployment_faults(draft, draft_deployment(draft, d));
    return faults.empty() ? "" : "the draft " + draft.name + ": " + faults.front();
}

Batch with_guesses(Batch batch, const Shard& shard) {
    if (!speculation_of(shard)) return batch;
    for (SequenceGroup& g : batch.groups) {
        if (g.fresh > 1 || !g.samples) continue;
        g.fresh += speculation_of(shard)->guesses;
        g.checks = true;
    }
    return batch;
}

std::vector<Operator> draft_operators(const Shard& whole, const Batch& batch) {
    const auto& speculation = speculation_of(whole);
    if (!speculation || !speculation->draft) return {};
    Shard draft;
    draft.stages = {*speculation->draft};
    draft.deployment = draft_deployment(draft.stages[0], whole.deployment);
    draft.has_embedding = draft.has_head = {true};
    draft.vocabulary = draft.stages[0].vocabulary * draft.deployment.tp;
    Batch guessing, prompts;
    for (SequenceGroup g : batch.groups) {
        if (g.checks) {
            g.checks = false;
            g.fresh = 1;
            guessing.groups.push_back(g);
        } else {
            g.samples = false;
            prompts.groups.push_back(g);
        }
    }
    std::vector<Operator> all;
    const auto add = [&](const Batch& pass, double times) {
        if (pass.groups.empty()) return;
        for (Operator& op : step_operators(draft, 0, pass)) {
            op.name = "draft " + op.name;
            op.count *= times;
            all.push_back(std::move(op));
        }
    };
    add(guessing, speculation->guesses);
    add(prompts, 1);
    return all;
}

Bytes draft_weight_bytes(const Model& part) {
    if (!part.speculation || !part.speculation->draft) return {};
    const Model& draft = *part.speculation->draft;
    if (!part.speculation->own_layers) return weight_bytes(draft);
    // Its layers alone: embedding and head are the model's own. Later layers serve later guesses.
    Model layers = draft;
    layers.vocabulary = 0;
    layers.final_norm = false;
    return std::max(1, std::min(part.prediction.count, part.speculation->guesses)) * weight_bytes(layers);
}

}  // namespace headroom
