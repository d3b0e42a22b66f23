// SPDX-License-Identifier: Apache-2.0
#include "perf/experts_time.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

constexpr double least_rows = 64;
constexpr Seconds block_start = 0.05 * us;
/// A last wave that is half full costs about half a wave more: blocks of unequal experts finish spread out.
constexpr double tail = 0.5;

KernelTime with_tile(const GroupedShape& s, const ExpertLoad& load, const Ceilings& ceilings,
                     std::size_t height, double width) {
    const ExpertCeilings& c = ceilings.experts[static_cast<std::size_t>(s.kind)];
    const double sms = ceilings.peaks.sms;
    const double rows = expert_tiles[height];
    const double waves = load.tiles[height] * std::ceil(s.n / width) / sms;
    const double turns = std::max(1.0, waves + tail * (std::ceil(waves) - waves));
    const double resident = std::clamp(std::floor(128.0 * 128.0 / (rows * width)), 1.0, 4.0);
    const FlopRate peak = s.peak > FlopRate() ? s.peak : matrix_peak(ceilings.peaks, s.kind);
    const Seconds math = 2 * std::max(rows, least_rows) * width * flop / (c.matrix / sms * peak);
    const Seconds fetch = (rows * s.input_element + width * s.weight_element) * byte / c.tile_load;
    KernelTime t;
    t.compute = std::max(1.0, turns / resident) * block_start + turns * s.k * max(math, fetch);
    const Bytes weights = load.hit * s.k * s.n * s.weight_element * byte;
    t.memory = (weights + load.rows * (s.k * s.input_element + s.n * 2) * byte) / ceilings.memory_rate();
    // Weight-only kernels (Marlin) keep several stages of weights in flight beside the unpacking: the longer
    // of the two counts.
    t.total = s.kind == ProductKind::WeightOnly ? max(t.compute, t.memory) : overlap(t.compute, t.memory);
    return t;
}

KernelTime least_of(const GroupedShape& s, const ExpertLoad& load, const Ceilings& ceilings,
                    std::size_t heights, std::initializer_list<double> widths) {
    KernelTime best = with_tile(s, load, ceilings, 0, *widths.begin());
    for (std::size_t height = 0; height < heights; ++height) {
        for (const double width : widths) {
            const KernelTime now = with_tile(s, load, ceilings, height, width);
            if (now.total < best.total) best = now;
        }
    }
    return best;
}

}  // namespace

KernelTime grouped_time(const GroupedShape& s, const ExpertLoad& load, const Ceilings& ceilings) {
    const ExpertCeilings& c = ceilings.experts[static_cast<std::size_t>(s.kind)];
    KernelTime t;
    if (s.kind == ProductKind::WeightOnly) {
        t = least_of(s, load, ceilings, 3, {128, 256});
    } else if (s.tiles == ExpertTiles::tuned) {
        t = least_of(s, load, ceilings, expert_tiles.size(), {64, 128, 256});
    } else {
        const double width = s.kind == ProductKind::Fp8Block ? 128 : 64;
        t = with_tile(s, load, ceilings, s.few_tokens ? 0 : 2, width);
    }
    const double passed = s.passed_rows > 0 ? s.passed_rows : load.rows;
    t.launch = c.launch;
    t.total += c.launch + c.copies * passed * (s.k + s.n) * 2 * byte / ceilings.memory_rate();
    return t;
}

}  // namespace headroom
