// SPDX-License-Identifier: Apache-2.0
#include "ops/kv_law.h"

#include <cmath>
#include <limits>

namespace headroom {

Bytes kv_bytes(const ModelKv& kv, double context) {
    Bytes sum;
    for (const KvLayers& part : kv) sum += part.layers * kv_bytes(part.law, context);
    return sum;
}

BytesPerToken growth(const ModelKv& kv) {
    BytesPerToken sum;
    for (const KvLayers& part : kv) {
        if (part.law.cap == 0) sum += part.layers * part.law.per_token;
    }
    return sum;
}

Bytes fixed_part(const ModelKv& kv) {
    Bytes sum;
    for (const KvLayers& part : kv) {
        sum += part.layers *
               (part.law.per_sequence + Tokens(static_cast<double>(part.law.cap)) * part.law.per_token);
    }
    return sum;
}

std::int64_t longest_context(const ModelKv& kv, Bytes room, std::int64_t limit) {
    if (kv_bytes(kv, 0) > room) return -1;
    std::int64_t low = 0, high = limit;  // low fits; bisection over whole tokens is exact
    while (low < high) {
        const std::int64_t middle = low + (high - low + 1) / 2;
        if (kv_bytes(kv, static_cast<double>(middle)) <= room)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

std::int64_t most_sequences(const ModelKv& kv, Bytes room, double context) {
    const Bytes each = kv_bytes(kv, context);
    if (room <= Bytes{}) return 0;
    if (each <= Bytes{}) return std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::floor(room / each));
}

}  // namespace headroom
