// SPDX-License-Identifier: Apache-2.0
#include "memory/held_weights.h"

#include "ops/tensor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

namespace headroom {
namespace {

double round_up(double value, int multiple) { return std::ceil(value / multiple) * multiple; }

const ExpertPadding* padding_of(const Engine& engine, const Hardware& hardware, const StorageFormat& format) {
    const std::string name = to_string(format);
    for (const ExpertPadding& p : engine.memory.expert_padding) {
        const bool here = p.generations.empty() || std::find(p.generations.begin(), p.generations.end(),
                                                             hardware.generation.name) != p.generations.end();
        if (here && p.format == name) return &p;
    }
    return nullptr;
}

/// One product of all experts that a GPU holds: `outputs` x `inputs` each.
struct PaddedProduct {
    double outputs = 0, inputs = 0;
};

double elements(const PaddedProduct& p, const ExpertPadding& by) {
    return round_up(p.outputs, by.outputs) * round_up(p.inputs, by.inputs);
}

double scale_elements(const PaddedProduct& p, const ExpertPadding& by) {
    return round_up(p.outputs, by.scale_outputs) * p.inputs + (by.loaded_scales ? p.outputs * p.inputs : 0);
}

struct Sizes {
    Bytes padding;  ///< of one layer's experts
    std::map<std::string, Bytes> tensors;
};

void add_padding(Sizes& sizes, const MixtureOfExperts& moe, double hidden, const StorageFormat& format,
                 const ExpertPadding& by) {
    const double width = round_up(moe.latent > 0 ? static_cast<double>(moe.latent) : hidden, by.hidden);
    const double inner = round_up(static_cast<double>(moe.intermediate), by.intermediate);
    const double experts = moe.local_experts;
    const Bytes value(bits(format.element) / 8);
    const Bytes scale = bytes_per_element(format) - value;
    for (const auto& [name, product] :
         {std::pair{"experts.up", PaddedProduct{(moe.gated ? 2 : 1) * inner, width}},
          {"experts.down", PaddedProduct{width, inner}}}) {
        const Bytes values = experts * elements(product, by) * value;
        Bytes& stored = sizes.tensors.at(name);
        sizes.padding += values + experts * scale_elements(product, by) * scale - stored;
        stored = values;
    }
}

/// Tensors of one product are one allocation; experts of a product are, too.
Sizes layer_sizes(const Model& part, const Layer& layer, const Hardware& hardware, const Engine& engine) {
    const Formats& formats = formats_of(part, layer);
    Sizes sizes;
    for (const Tensor& t : layer_tensors(part, layer)) {
        const std::string& name = t.product.empty() ? t.name : t.product;
        sizes.tensors[name] += parameters(t) * bytes_per_element(format_of(formats, t));
    }
    const auto* moe = std::get_if<MixtureOfExperts>(&layer.feed_forward);
    if (moe == nullptr || moe->local_experts == 0) return sizes;
    const StorageFormat& format = formats[Role::expert];
    if (const ExpertPadding* by = padding_of(engine, hardware, format))
        add_padding(sizes, *moe, static_cast<double>(part.hidden), format, *by);
    return sizes;
}

/// Widths that positions are rotated over; models that learn positions or have none have no such table.
std::set<int> rotated_widths(const Model& part) {
    std::set<int> widths;
    const auto learned = [](const ExtraTensor& e) { return e.name == "position_embedding"; };
    if (std::any_of(part.extras.begin(), part.extras.end(), learned)) return widths;
    for (const Layer& layer : part.kinds) {
        const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer);
        if (softmax != nullptr && softmax->memory == 0) widths.insert(softmax->head_dim);
        if (const auto* latent = std::get_if<LatentAttention>(&layer.mixer)) widths.insert(latent->rope_dim);
    }
    return widths;
}

}  // namespace

Bytes unsplit_end(Bytes size, Bytes granule) {
    if (granule <= Bytes{} || size < 5 * granule) return {};
    const Bytes rest = std::ceil(size / granule) * granule - size;
    return rest <= 0.5 * granule ? rest : Bytes{};
}

HeldWeights held_weights(const Shard& shard, std::size_t stage, const Hardware& hardware,
                         const Engine& engine) {
    const Model& part = shard.stages[stage];
    HeldWeights held;
    held.stored = stage_weight_bytes(shard, stage);
    const Bytes granule =
        engine.memory.allocation_granule ? engine.memory.allocation_granule->value : Bytes{};
    const std::vector<int> counts = layers_per_kind(part);
    for (std::size_t i = 0; i < part.kinds.size(); ++i) {
        if (counts[i] == 0) continue;
        const int sets = part.kinds[i].copies > 0 ? std::min(part.kinds[i].copies, counts[i]) : counts[i];
        const Sizes sizes = layer_sizes(part, part.kinds[i], hardware, engine);
        held.experts += sets * sizes.padding;
        for (const auto& [name, bytes] : sizes.tensors) held.allocator += sets * unsplit_end(bytes, granule);
    }
    if (engine.memory.position_tables) {
        const double positions = static_cast<double>(part.max_context);
        for (const int width : rotated_widths(part))
            held.positions += Bytes(positions * width * bits(part.activation) / 8);
    }
    return held;
}

}  // namespace headroom
