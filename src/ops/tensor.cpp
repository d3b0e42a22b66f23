// SPDX-License-Identifier: Apache-2.0
#include "ops/tensor.h"

#include "ops/experts.h"
#include "ops/mixer.h"

#include <algorithm>

namespace headroom {
namespace {

int norm_vectors(NormKind kind) {
    switch (kind) {
        case NormKind::none:
            return 0;
        case NormKind::rms:
            return 1;
        case NormKind::layer:
            return 2;
    }
    return 0;
}

void add_extras(std::vector<Tensor>& to, const std::vector<ExtraTensor>& extras) {
    for (const ExtraTensor& e : extras) {
        to.push_back({e.name, e.rows, e.columns, e.role, e.multiplied ? e.name : "", 1, false});
    }
}

bool is_embedding(const Tensor& t) { return t.role == Role::embedding || t.role == Role::head; }

// Of the routed experts a token uses top_k of all; one GPU's part holds its share of them.
double active_fraction(const Layer& layer, const Tensor& tensor) {
    const auto* moe = std::get_if<MixtureOfExperts>(&layer.feed_forward);
    if (moe == nullptr || tensor.role != Role::expert || moe->experts == 0) return 1;
    return static_cast<double>(moe->top_k) / moe->experts;
}

}  // namespace

void add_linear(std::vector<Tensor>& to, const std::string& name, std::int64_t rows, std::int64_t columns,
                bool bias, Role role, const std::string& product) {
    to.push_back({name, rows, columns, role, product, 1});
    if (bias) to.push_back({name + ".bias", rows, 1, Role::norm, "", 1});
}

int held(const Layer& layer, const Tensor& t, int layers) {
    return t.shared ? std::min(layer.copies, layers) : layers;
}

std::vector<Tensor> layer_tensors(const Model& model, const Layer& layer) {
    std::vector<Tensor> all = tensors(layer.mixer, model.hidden);
    for (Tensor& t : tensors(layer.feed_forward, model.hidden)) all.push_back(std::move(t));
    const std::int64_t vectors = std::int64_t{norm_vectors(model.norm)} * layer.norms;
    if (vectors > 0) all.push_back({"norms", vectors, model.hidden, Role::norm, "", 1});
    for (Tensor& t : all) t.shared = layer.copies > 0;
    add_extras(all, layer.extras);
    return all;
}

std::vector<Tensor> outer_tensors(const Model& model) {
    std::vector<Tensor> all;
    const std::int64_t width = embedding_width(model);
    all.push_back({"embedding", model.vocabulary, width, Role::embedding, "", 1});
    if (model.head && !model.tied_embeddings)
        all.push_back({"lm_head", model.vocabulary, width, Role::head, "lm_head", 1});
    if (model.head && model.head_bias)
        all.push_back({"lm_head.bias", model.vocabulary, 1, Role::norm, "", 1});
    if (model.final_norm && model.norm != NormKind::none) {
        all.push_back({"final_norm", norm_vectors(model.norm), model.hidden, Role::norm, "", 1});
    }
    add_extras(all, model.extras);
    return all;
}

ParameterCount count_parameters(const Model& model) {
    ParameterCount sum;
    for (const Tensor& t : outer_tensors(model)) {
        sum.total += parameters(t);
        sum.active += parameters(t);
        if (!is_embedding(t)) sum.active_without_embedding += parameters(t);
    }
    const std::vector<int> counts = layers_per_kind(model);
    for (std::size_t i = 0; i < model.kinds.size(); ++i) {
        for (const Tensor& t : layer_tensors(model, model.kinds[i])) {
            const int n = held(model.kinds[i], t, counts[i]);
            const double active = parameters(t) * active_fraction(model.kinds[i], t);
            sum.total += n * parameters(t);
            sum.active += n * active;
            if (!is_embedding(t)) sum.active_without_embedding += n * active;
        }
    }
    return sum;
}

const Formats& formats_of(const Model& model, const Layer& layer) {
    return layer.formats ? *layer.formats : model.formats;
}

const StorageFormat& format_of(const Formats& formats, const Tensor& t) {
    const bool bias_of_expert = t.role == Role::expert && t.product.empty();
    return formats[bias_of_expert ? Role::norm : t.role];
}

Bytes weight_bytes(const Model& model) {
    Bytes sum;
    for (const Tensor& t : outer_tensors(model))
        sum += parameters(t) * bytes_per_element(format_of(model.formats, t));
    const std::vector<int> counts = layers_per_kind(model);
    for (std::size_t i = 0; i < model.kinds.size(); ++i) {
        const Formats& formats = formats_of(model, model.kinds[i]);
        for (const Tensor& t : layer_tensors(model, model.kinds[i])) {
            sum +=
                held(model.kinds[i], t, counts[i]) * parameters(t) * bytes_per_element(format_of(formats, t));
        }
    }
    return sum;
}

Model with_weight_format(Model model, const StorageFormat& format, bool every_matrix) {
    const auto apply = [&](Formats& formats) {
        for (const Role role : {Role::attention, Role::ffn, Role::expert, Role::shared_expert})
            formats[role] = format;
        if (!every_matrix) return;
        for (const Role role : {Role::embedding, Role::head, Role::router}) formats[role] = format;
    };
    apply(model.formats);
    for (Layer& layer : model.kinds) {
        if (layer.formats) apply(*layer.formats);
    }
    return model;
}

}  // namespace headroom
