// SPDX-License-Identifier: Apache-2.0
#include "answers/model_facts.h"

#include "ops/mixer.h"
#include "ops/shard.h"

namespace headroom {

ModelFacts model_facts(const Model& model) {
    ModelFacts facts;
    facts.model = model;
    facts.parameters = count_parameters(model);
    facts.weights = weight_bytes(model);
    facts.kv = kv_of(model);
    const std::vector<int> counts = layers_per_kind(model);
    for (std::size_t i = 0; i < model.kinds.size(); ++i) {
        const Layer& layer = model.kinds[i];
        LayerFacts row{.kind = layer.name,
                       .mixer = kind_name(layer.mixer),
                       .layers = counts[i],
                       .weights = {},
                       .kv = {}};
        for (const Tensor& t : layer_tensors(model, layer)) {
            row.parameters += parameters(t);
            row.weights += parameters(t) * bytes_per_element(format_of(formats_of(model, layer), t));
        }
        row.kv = kv_law(layer.mixer, kv_format(model));
        facts.layers.push_back(std::move(row));
    }
    return facts;
}

}  // namespace headroom
