// SPDX-License-Identifier: Apache-2.0
#include "perf/product_time.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headroom {
namespace {

struct Tile {
    double m;
    double n;
};

/// The shapes that vendor libraries choose from, in rows of the input by columns of the weights.
constexpr std::array<Tile, 12> tiles{{{16, 64},
                                      {16, 128},
                                      {32, 64},
                                      {32, 128},
                                      {64, 64},
                                      {64, 128},
                                      {64, 256},
                                      {128, 64},
                                      {128, 128},
                                      {128, 256},
                                      {256, 64},
                                      {256, 128}}};
constexpr std::array<double, 10> splits{1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

/// Rows that the matrix unit works on at once, used or not (wgmma's 64; an Ampere tile of two warps).
constexpr double least_rows = 64;
constexpr double k_step = 64;
/// A block alone advances one step of k in no less than this (load to use, hidden by a few stages).
constexpr Seconds k_latency = 0.064 * us;

struct Candidate {
    Seconds compute;
    Seconds extra;
};

Candidate candidate(const ProductShape& s, Tile tile, double split, const ProductCeilings& c,
                    const Peaks& peaks) {
    const double sms = peaks.sms;
    const double blocks = s.groups * std::ceil(s.m / tile.m) * std::ceil(s.n / tile.n) * split;
    const double resident = std::clamp(std::floor(128.0 * 256.0 / (tile.m * tile.n)), 1.0, 4.0);
    const double waves = std::ceil(blocks / sms);
    const double starts = std::ceil(waves / resident);
    const double depth = std::ceil(s.k / split / k_step) * k_step;
    const FlopRate peak = s.peak > FlopRate() ? s.peak : matrix_peak(peaks, s.kind);
    const FlopRate sm_rate = c.matrix / sms * peak;
    const Seconds math = 2 * std::max(tile.m, least_rows) * tile.n * flop / sm_rate;
    const Seconds load = (tile.m * s.input_element + tile.n * s.weight_element) * byte / c.tile_load;
    const Seconds busy = starts * c.fill + waves * depth * max(math, load);
    const Seconds chain = starts * (c.fill + depth / k_step * k_latency);
    const Seconds extra =
        split > 1 ? c.split + (split + 1) * s.groups * s.m * s.n * 4 * byte / c.split_rate : Seconds();
    return {max(busy, chain), extra};
}

Seconds quantise_time(const ProductShape& s, const ProductCeilings& c) {
    if (!s.quantise_input) {
        return {};
    }
    return c.quantise + s.k / 1024 * c.quantise_chain + s.m * s.k * 2 * byte / c.quantise_rate;
}

}  // namespace

// Not std::hypot: seconds neither overflow nor vanish in squares, and it takes a quarter of a plan.
Seconds overlap(Seconds a, Seconds b) {
    return Seconds(std::sqrt(a.base() * a.base() + b.base() * b.base()));
}

FlopRate matrix_peak(const Peaks& peaks, ProductKind kind) {
    return kind == ProductKind::Fp8 || kind == ProductKind::Fp8Block ? peaks.matrix8 : peaks.matrix16;
}

KernelTime product_time(const ProductShape& s, const Ceilings& ceilings) {
    const ProductCeilings& c = ceilings.product[static_cast<std::size_t>(s.kind)];
    const Bytes traffic =
        s.groups *
        (s.m * s.k * s.input_element + s.k * s.n * s.weight_element + s.m * s.n * s.output_element) * byte;
    KernelTime best;
    best.launch = c.launch + quantise_time(s, c);
    best.memory = traffic / ceilings.memory_rate();
    bool found = false;
    for (const Tile tile : tiles) {
        if (tile.m > 16 && tile.m >= 2 * std::max(s.m, least_rows)) continue;  // mostly empty
        const double blocks = s.groups * std::ceil(s.m / tile.m) * std::ceil(s.n / tile.n);
        for (const double split : splits) {
            if (split > 1 && (s.k / split < k_step || blocks * split > 8 * ceilings.peaks.sms)) break;
            const Candidate now = candidate(s, tile, split, c, ceilings.peaks);
            const Seconds total = best.launch + now.extra + overlap(now.compute, best.memory);
            if (!found || total < best.total) {
                found = true;
                best.total = total;
                best.compute = now.compute + now.extra;
            }
        }
    }
    return best;
}

}  // namespace headroom
