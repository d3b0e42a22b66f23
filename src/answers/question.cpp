// SPDX-License-Identifier: Apache-2.0
#include "answers/question.h"

#include "base/units.h"
#include "ops/tensor.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {

StorageFormat linear_format(const Model& model) {
    // By parameters: a mixture's experts outweigh its attention.
    double expert = 0, attention = 0;
    const std::vector<int> counts = layers_per_kind(model);
    for (std::size_t i = 0; i < model.kinds.size(); ++i) {
        for (const Tensor& t : layer_tensors(model, model.kinds[i])) {
            if (t.role == Role::expert || t.role == Role::ffn) expert += counts[i] * parameters(t);
            if (t.role == Role::attention) attention += counts[i] * parameters(t);
        }
    }
    const bool experts = std::any_of(model.kinds.begin(), model.kinds.end(), [](const Layer& layer) {
        return std::holds_alternative<MixtureOfExperts>(layer.feed_forward);
    });
    if (attention > expert) return model.formats[Role::attention];
    return model.formats[experts ? Role::expert : Role::ffn];
}

Peak linear_peak(const Model& model, const Hardware& hardware) {
    const ElementType type = compute_type(linear_format(model));
    return dense_peak(hardware, bits(type) >= 16 ? model.activation : type).value_or(Peak{});
}

std::string deployment_name(const Question& q) {
    const Deployment& d = q.deployment;
    std::string name = fmt::format("{} x {}", gpus(d), q.hardware.name);
    if (gpus(d) == 1) return name;
    for (const auto& [what, degree] :
         {std::pair{"tp", d.tp}, {"pp", d.pp}, {"ep", d.ep}, {"dp", d.dp}, {"cp", d.cp}}) {
        if (degree > 1) name += fmt::format(", {} {}", what, degree);
    }
    return name;
}

std::string capacity_note(const Hardware& h) {
    const Fact<Bytes>& used = h.memory.capacity;
    std::string origin = "an estimate";
    if (used.kind == SourceKind::measured) origin = "as the driver reports it";
    if (used.kind == SourceKind::datasheet) origin = "from the datasheet";
    if (used.kind == SourceKind::option) origin = "set by option";
    return fmt::format("{} ({}), {}; sold as {}", format_binary(used.value), format(used.value), origin,
                       format(h.memory.nominal.value));
}

}  // namespace headroom
