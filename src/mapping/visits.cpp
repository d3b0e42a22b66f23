// SPDX-License-Identifier: Apache-2.0
#include "mapping/visits.h"

#include <algorithm>

namespace headroom {

Visits visits(std::span<const Step> steps, std::span<const Access> accesses, const DimensionSet& indexed,
              const Extents& extents) {
    if (steps.empty()) return {volume(accesses, extents), 0};
    const Step& step = steps.front();
    const auto d = static_cast<std::size_t>(step.dimension);
    const std::int64_t left = extents[d];
    const std::int64_t tile = std::min(step.size, left);
    const std::int64_t full = left / tile;
    Extents inner = extents;
    inner[d] = tile;
    const Visits each = visits(steps.subspan(1), accesses, indexed, inner);
    Visits last;
    if (left % tile != 0) {
        inner[d] = left % tile;
        last = visits(steps.subspan(1), accesses, indexed, inner);
    }
    const Visits all{full * each.loads + last.loads, full * each.again + last.again};
    if (step.over != LoopBinding::time) return all;
    if (!indexed[d]) return {each.loads + (full - 1) * each.again + last.again, all.again};
    const bool moves = trips(left, tile) > 1;
    return {all.loads, moves ? all.loads : each.again};
}

std::int64_t first_visits(std::span<const Step> steps, std::span<const Access> accesses,
                          const DimensionSet& indexed, const Extents& extents) {
    if (steps.empty()) return volume(accesses, extents);
    const Step& step = steps.front();
    const auto d = static_cast<std::size_t>(step.dimension);
    const std::int64_t left = extents[d];
    const std::int64_t tile = std::min(step.size, left);
    Extents inner = extents;
    inner[d] = tile;
    const std::int64_t each = first_visits(steps.subspan(1), accesses, indexed, inner);
    if (!indexed[d] && step.over == LoopBinding::time) return each;
    inner[d] = left % tile;
    const std::int64_t last = inner[d] > 0 ? first_visits(steps.subspan(1), accesses, indexed, inner) : 0;
    return left / tile * each + last;
}

Moved moved(std::span<const Step> steps, const Buffer& buffer, const Extents& extents) {
    const std::int64_t loads = visits(steps, buffer.accesses, buffer.indexed, extents).loads;
    if (!buffer.written) return {loads, 0};
    return {loads - first_visits(steps, buffer.accesses, buffer.indexed, extents), loads};
}

}  // namespace headroom
