// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"

#include <cstdint>
#include <vector>

namespace headroom {

/// What one sequence of `context` tokens keeps in one layer:
/// per_token * min(context, cap) + per_sequence, where cap is the window (0: it grows for ever).
struct KvLaw {
    BytesPerToken per_token{};
    std::int64_t cap = 0;
    Bytes per_sequence{};
    bool memory = false;   ///< the fixed part is tokens of an image, in pages like the text's
    bool chunked = false;  ///< the cap is a chunk that starts anew, not a window that moves
};

constexpr Bytes kv_bytes(const KvLaw& law, double context) {
    const double held =
        law.cap > 0 && context > static_cast<double>(law.cap) ? static_cast<double>(law.cap) : context;
    return Tokens(held) * law.per_token + law.per_sequence;
}

/// The law of a whole model: layers of the same law together.
struct KvLayers {
    KvLaw law;
    int layers = 0;
};
using ModelKv = std::vector<KvLayers>;

/// Bytes that a sequence of `context` tokens keeps.
Bytes kv_bytes(const ModelKv& kv, double context);

/// Growth per token of an unbounded context (layers without a cap).
BytesPerToken growth(const ModelKv& kv);

/// The part that no longer grows: full windows and states.
Bytes fixed_part(const ModelKv& kv);

/// The longest context whose cache fits into `room`, exactly: the law is piecewise linear and never falls.
/// -1 when not even the states fit; `limit` when the cache stops growing or the limit is reached first.
std::int64_t longest_context(const ModelKv& kv, Bytes room, std::int64_t limit);

/// The most sequences of `context` tokens that fit into `room`; the largest number when they keep nothing.
std::int64_t most_sequences(const ModelKv& kv, Bytes room, double context);

}  // namespace headroom
