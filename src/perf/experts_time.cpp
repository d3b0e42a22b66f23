// SPDX-License-Identifier: Apache-2.0
#include "perf/experts_time.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headroom {
namespace {

constexpr double least_rows = 64;
constexpr Seconds block_start = 0.05 * us;
/// A last wave that is half full costs about half a wave more: blocks of unequal experts finish spread out.
constexpr double tail = 0.5;

struct Grouped {
    double k;
    double n;
    double matrices;
};

KernelTime grouped_time(const ExpertsShape& s, const ExpertLoad& load, const Ceilings& ceilings, Grouped g,
                        std::size_t height, double width) {
    const ExpertCeilings& c = ceilings.experts[static_cast<std::size_t>(s.kind)];
    const double sms = ceilings.peaks.sms;
    const double rows = expert_tiles[height];
    const double waves = load.tiles[height] * std::ceil(g.n / width) / sms;
    const double turns = std::max(1.0, waves + tail * (std::ceil(waves) - waves));
    const double resident = std::clamp(std::floor(128.0 * 128.0 / (rows * width)), 1.0, 4.0);
    const FlopRate sm_rate = c.matrix / sms * matrix_peak(ceilings.peaks, s.kind);
    const Seconds math = 2 * std::max(rows, least_rows) * width * flop / sm_rate;
    const Seconds fetch = (rows * s.input_element + width * s.weight_element) * byte / c.tile_load;
    KernelTime t;
    t.compute = std::max(1.0, turns / resident) * block_start + turns * g.k * max(math, fetch);
    const Bytes weights = g.matrices * load.hit * s.hidden * s.inter * s.weight_element * byte;
    t.memory = (weights + load.rows * (g.k * s.input_element + g.n * 2) * byte) / ceilings.memory_rate();
    // Weight-only kernels (Marlin) keep several stages of weights in flight beside the unpacking: the longer counts.
    t.total = s.kind == ProductKind::WeightOnly ? max(t.compute, t.memory) : overlap(t.compute, t.memory);
    return t;
}

/// Both products with one tile shape.
KernelTime both(const ExpertsShape& s, const ExpertLoad& load, const Ceilings& ceilings, std::size_t height,
                double width) {
    const double up = s.gated ? 2 : 1;
    const KernelTime a = grouped_time(s, load, ceilings, {s.hidden, up * s.inter, up}, height, width);
    const KernelTime b = grouped_time(s, load, ceilings, {s.inter, s.hidden, 1}, height, width);
    return {Seconds(), a.compute + b.compute, a.memory + b.memory, a.total + b.total};
}

KernelTime least_of(const ExpertsShape& s, const ExpertLoad& load, const Ceilings& ceilings, std::size_t heights,
                    std::initializer_list<double> widths) {
    KernelTime best;
    for (std::size_t height = 0; height < heights; ++height) {
        for (const double width : widths) {
            const KernelTime now = both(s, load, ceilings, height, width);
            best = best.total == Seconds() || now.total < best.total ? now : best;
        }
    }
    return best;
}

}  // namespace

KernelTime experts_time(const ExpertsShape& s, const ExpertLoad& load, const Ceilings& ceilings) {
    const ExpertCeilings& c = ceilings.experts[static_cast<std::size_t>(s.kind)];
    KernelTime t;
    if (s.kind == ProductKind::WeightOnly) {
        t = least_of(s, load, ceilings, 3, {128, 256});
    } else if (s.tuned) {
        t = least_of(s, load, ceilings, expert_tiles.size(), {64, 128, 256});
    } else {
        // The default tile of Triton's fused experts: thin while tokens are fewer than experts, else 64 rows.
        const double width = s.kind == ProductKind::Fp8Block ? 128 : 64;
        t = both(s, load, ceilings, s.tokens <= s.local_experts ? 0 : 2, width);
    }
    const Bytes around = s.tokens * s.top_k * (3 * s.inter + 2 * s.hidden) * 2 * byte;
    t.launch = c.launch;
    t.total += c.launch + c.copies * around / ceilings.memory_rate();
    return t;
}

}  // namespace headroom
