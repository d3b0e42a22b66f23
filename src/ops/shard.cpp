// SPDX-License-Identifier: Apache-2.0
#include "ops/shard.h"

#include "ops/experts.h"
#include "ops/mixer.h"
#include "ops/speculation.h"
#include "ops/tensor.h"

#include <algorithm>

namespace headroom {
namespace {

FeedForwardSplit split_of(const Deployment& d) {
    // Experts are spread over all tp * dp GPUs of a stage: ep of them hold different experts, the rest cut
    // each expert.
    return {.tp = d.tp, .expert_ranks = d.ep, .expert_tp = d.tp * d.dp / d.ep};
}

bool cuts(const Model& model, int tp) {
    return std::all_of(model.kinds.begin(), model.kinds.end(),
                       [&](const Layer& l) { return shard_fault(l.mixer, tp).empty(); });
}

// The degree nearest to `tp` that every layer can be cut into.
int nearest_tp(const Model& model, int tp) {
    for (int step = 1; step < tp; ++step) {
        if (cuts(model, tp - step)) return tp - step;
        if (cuts(model, tp + step)) return tp + step;
    }
    return 1;
}

bool has_experts(const Model& model) {
    return std::any_of(model.kinds.begin(), model.kinds.end(), [](const Layer& l) {
        return std::holds_alternative<MixtureOfExperts>(l.feed_forward);
    });
}

// Embedding and head are cut by vocabulary, which engines pad to a multiple of 64 first.
std::int64_t padded_vocabulary(std::int64_t vocabulary, int tp) {
    if (tp == 1) return vocabulary;
    const std::int64_t unit = std::int64_t{64} * tp;
    return (vocabulary + unit - 1) / unit * unit / tp;
}

ExtraTensor shard_extra(ExtraTensor e, int tp) {
    std::int64_t& length = e.cut == Cut::columns ? e.columns : e.rows;
    if (e.cut != Cut::none)
        length = e.role == Role::embedding ? padded_vocabulary(length, tp) : (length + tp - 1) / tp;
    return e;
}

Layer shard_layer(const Layer& layer, const Deployment& d) {
    Layer part = layer;
    for (ExtraTensor& e : part.extras) e = shard_extra(e, d.tp);
    part.mixer = shard(layer.mixer, d.tp);
    part.feed_forward = shard(layer.feed_forward, split_of(d));
    return part;
}

}  // namespace

std::vector<std::string> deployment_faults(const Model& model, const Deployment& d) {
    std::vector<std::string> faults;
    for (const Layer& layer : model.kinds) {
        const std::string fault = shard_fault(layer.mixer, d.tp);
        if (!fault.empty()) {
            faults.push_back("--tp " + std::to_string(d.tp) + ": " + fault + "; nearest that works: --tp " +
                             std::to_string(nearest_tp(model, d.tp)));
            break;
        }
    }
    const int layers = static_cast<int>(model.layout.size());
    if (d.pp > layers) {
        faults.push_back("--pp " + std::to_string(d.pp) + ": the model has " + std::to_string(layers) +
                         " layers; nearest that works: --pp " + std::to_string(layers));
    }
    if (d.ep > 1 && !has_experts(model))
        faults.push_back("--ep " + std::to_string(d.ep) + ": the model has no experts; use --ep 1");
    if (d.tp * d.dp % d.ep != 0) {
        int nearest = std::min(d.ep, d.tp * d.dp);
        while (d.tp * d.dp % nearest != 0) --nearest;
        faults.push_back("--ep " + std::to_string(d.ep) +
                         ": experts are spread over the tp x dp = " + std::to_string(d.tp * d.dp) +
                         " GPUs of a stage; nearest that works: --ep " + std::to_string(nearest));
    } else {
        for (const Layer& layer : model.kinds) {
            const std::string fault = shard_fault(layer.feed_forward, split_of(d));
            if (!fault.empty()) {
                faults.push_back("--ep " + std::to_string(d.ep) + ": " + fault);
                break;
            }
        }
    }
    return faults;
}

Shard shard(const Model& model, const Deployment& d) {
    Shard result;
    result.deployment = d;
    Model whole = model;
    for (Layer& layer : whole.kinds) layer = shard_layer(layer, d);
    for (ExtraTensor& e : whole.extras) e = shard_extra(e, d.tp);
    whole.context_shards = d.cp;
    result.vocabulary = padded_vocabulary(model.vocabulary, d.tp) * d.tp;
    whole.vocabulary = padded_vocabulary(model.vocabulary, d.tp);
    std::optional<Speculation> speculation = model.speculation;
    if (speculation && speculation->draft)
        speculation->draft = std::make_shared<const Model>(
            shard(*speculation->draft, draft_deployment(*speculation->draft, d)).stages[0]);
    // Layers are dealt out evenly, the first stages taking one more where they do not divide.
    const std::size_t layers = model.layout.size(), stages = static_cast<std::size_t>(d.pp);
    std::size_t next = 0;
    for (std::size_t s = 0; s < stages; ++s) {
        Model part = whole;
        const std::size_t take = layers / stages + (s < layers % stages ? 1 : 0);
        part.layout.assign(model.layout.begin() + static_cast<std::ptrdiff_t>(next),
                           model.layout.begin() + static_cast<std::ptrdiff_t>(next + take));
        next += take;
        // Tables that tokens look themselves up in are where the embedding is.
        if (s > 0) std::erase_if(part.extras, [](const ExtraTensor& e) { return e.role == Role::embedding; });
        part.speculation.reset();
        if (s + 1 == stages) part.speculation = speculation;
        result.stages.push_back(std::move(part));
        result.has_embedding.push_back(s == 0);
        result.has_head.push_back(s + 1 == stages);
    }
    return result;
}

Bytes stage_weight_bytes(const Shard& shard, std::size_t stage) {
    const Model& part = shard.stages[stage];
    Bytes sum = weight_bytes(part) + draft_weight_bytes(part);
    // A stage without embedding or head does not hold them; a tied pair is held where either is needed.
    const Bytes table = static_cast<double>(part.vocabulary) * static_cast<double>(embedding_width(part)) *
                        bytes_per_element(part.formats[Role::embedding]);
    const Bytes head = static_cast<double>(part.vocabulary) * static_cast<double>(embedding_width(part)) *
                       bytes_per_element(part.formats[Role::head]);
    if (part.tied_embeddings) {
        if (!shard.has_embedding[stage] && !(part.head && shard.has_head[stage])) sum -= table;
        return sum;
    }
    if (!shard.has_embedding[stage]) sum -= table;
    if (part.head && !shard.has_head[stage]) sum -= head;
    return sum;
}

Bytes largest_weight_bytes(const Shard& shard) {
    Bytes most;
    for (std::size_t s = 0; s < shard.stages.size(); ++s) most = max(most, stage_weight_bytes(shard, s));
    return most;
}

StorageFormat kv_format(const Model& model) {
    return model.kv_format.value_or(StorageFormat{.element = model.activation});
}

ModelKv kv_of(const Model& part) {
    ModelKv kv;
    const std::vector<int> counts = layers_per_kind(part);
    for (std::size_t i = 0; i < part.kinds.size(); ++i) {
        if (counts[i] == 0) continue;
        KvLaw law = kv_law(part.kinds[i].mixer, kv_format(part));
        law.per_token /= part.context_shards;  // states are on every GPU
        kv.push_back({law, counts[i]});
    }
    if (!part.speculation || !part.speculation->draft) return kv;
    const int copies =  // each prediction layer that is used has a cache of its own
        part.speculation->own_layers ? std::max(1, std::min(part.prediction.count, part.speculation->guesses))
                                     : 1;
    Model draft = *part.speculation->draft;
    draft.kv_format = kv_format(part);
    for (KvLayers& layers : kv_of(draft)) kv.push_back({layers.law, copies * layers.layers});
    return kv;
}

}  // namespace headroom
