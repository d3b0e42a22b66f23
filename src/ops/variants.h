// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/model.h"

#include <optional>
#include <string>

namespace headroom {

/// An attention kind to redraw a model with: "mha", "gqa:G" (G query heads share a key-value head), "mqa",
/// "mla".
struct AttentionVariant {
    enum class Kind { mha, gqa, mqa, mla } kind = Kind::mha;
    int group = 1;  ///< gqa: query heads per key-value head
};

/// Reads a variant's name; nothing when it is none.
std::optional<AttentionVariant> attention_variant(const std::string& name);

/// The model with every softmax-attention layer redrawn; heads, head size, windows and all else stay. MLA
/// takes DeepSeek-V3's ranks (512 latent, 64 rope; queries projected directly). Parameters change
/// accordingly. Returns "" and changes `model`, or says why it cannot be done.
std::string redraw_attention(Model& model, const AttentionVariant& variant);

/// What a variant takes away from the model; the tool does not know what that costs in accuracy.
std::string removed_freedom(const AttentionVariant& variant);

}  // namespace headroom
