// SPDX-License-Identifier: Apache-2.0
#include "spec/model.h"

namespace headroom {

std::int64_t embedding_width(const Model& model) {
    return model.embedding_width > 0 ? model.embedding_width : model.hidden;
}

std::vector<int> layers_per_kind(const Model& model) {
    std::vector<int> counts(model.kinds.size());
    for (const int kind : model.layout) ++counts[static_cast<std::size_t>(kind)];
    return counts;
}

}  // namespace headroom
