// SPDX-License-Identifier: Apache-2.0
#include "perf/attention_time.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headroom {
namespace {

constexpr double kv_tile = 128;
constexpr double query_tile = 64;     ///< rows of a decode tile (heads of a group x new tokens)
constexpr double prefill_rows = 128;  ///< rows of a prefill tile
/// Share of L2 that one array can keep over a repeated call, the rest going to everything else.
constexpr double l2_decode = 0.75;
constexpr double l2_prefill = 0.6;
/// A schedule aims at 1/1.1 of the SMs, so that rounding up still fits in one wave (FlashAttention-3).
constexpr double schedule_slack = 1.1;

/// Part of `bytes` still in L2 when the same call comes again: all of it up to the capacity that it can keep,
/// none beyond 1.5 times that (least-recently-used eviction of a cyclic walk).
double hit_rate(Bytes bytes, Bytes l2, double keep, Residency residency) {
    if (residency == Residency::Cold || l2 == Bytes()) {
        return 0;
    }
    return std::clamp(3 - 2 * (bytes / (keep * l2)), 0.0, 1.0);
}

Seconds stream(Bytes bytes, double hit, Bandwidth l2_rate, Bandwidth memory_rate) {
    const Seconds missed = (1 - hit) * bytes / memory_rate;
    return hit > 0 ? hit * bytes / l2_rate + missed : missed;
}

struct Walk {
    double blocks;
    double tiles;
    Seconds block;
    Seconds tile;
    Seconds memory;
    double sms;
};

/// Kernel and merge, without the launch.
KernelTime walk(const Walk& w, double splits, Seconds merge) {
    const double waves = std::ceil(w.blocks * splits / w.sms);
    KernelTime t;
    t.compute = waves * (w.block + std::ceil(w.tiles / splits) * w.tile);
    t.memory = w.memory;
    t.total = overlap(t.compute, t.memory);
    if (splits > 1) {
        t.total += merge;
    }
    return t;
}

KernelTime best_walk(const Walk& w, Seconds merge) {
    constexpr std::array<double, 14> candidates{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
    KernelTime best = walk(w, 1, merge);
    for (const double splits : candidates) {
        if (splits > 1 && splits <= w.tiles) {
            const KernelTime now = walk(w, splits, merge);
            best = now.total < best.total ? now : best;
        }
    }
    return best;
}

}  // namespace

KernelTime decode_attention_time(const AttentionShape& s, const Ceilings& ceilings) {
    const DecodeCeilings& c = ceilings.decode;
    const double sms = ceilings.peaks.sms;
    const double group = std::max(1.0, s.heads / s.kv_heads);
    const double query_tiles = std::ceil(group * s.query_tokens / query_tile);
    const Bytes bytes = s.sequences * s.kv_heads * s.context * (s.qk_dim + s.v_dim) * s.cache_element * byte;
    const double hit = hit_rate(bytes, ceilings.peaks.l2, l2_decode, s.residency);

    Walk w{};
    w.blocks = s.sequences * s.kv_heads * query_tiles;
    w.tiles = std::ceil(s.context / kv_tile);
    w.block = c.block;
    const Seconds least =
        2 * query_tile * kv_tile * (s.qk_dim + s.v_dim) * flop / ceilings.peaks.matrix16 * sms;
    w.tile = max(least, (s.cache_element > 1 ? c.tile16 : c.tile8) * ((s.qk_dim + s.v_dim) / 256));
    w.memory = stream(bytes, hit, c.l2_rate, ceilings.memory_rate());
    w.sms = sms;

    KernelTime t;
    if (group <= 1 && s.query_tokens <= 1 && c.ungrouped < 0.5) {
        t = walk(w, 1, c.merge);
    } else if (c.even > 0.5) {
        const double scheduled = s.schedule_kv_heads > 0 ? s.schedule_kv_heads : s.kv_heads;
        const double per_sm =
            std::ceil(s.sequences * query_tiles * scheduled * w.tiles * schedule_slack / sms);
        t = walk(w, std::ceil(w.tiles / per_sm), c.merge);
    } else {
        t = best_walk(w, c.merge);
    }
    t.launch = c.launch;
    if (group > 1 && s.kv_heads > 1 && s.sequences > 1) {
        t.launch += c.regroup;
    }
    t.total += t.launch;
    return t;
}

KernelTime prefill_attention_time(const AttentionShape& s, const Ceilings& ceilings) {
    const PrefillCeilings& c = ceilings.prefill;
    const double sms = ceilings.peaks.sms;
    const bool packed = c.packed > 0.5;
    const double group = std::max(1.0, s.heads / s.kv_heads);
    const double per_row = packed ? group : 1;  // rows of a tile that belong to one token
    const double tokens = s.sequences * s.query_tokens;
    const double columns = packed ? kv_tile : kv_tile / 2;  // packed kernels use wide key tiles
    const double row_tiles = std::ceil(s.query_tokens * per_row / prefill_rows);
    const double blocks = s.sequences * (packed ? s.kv_heads : s.heads) * row_tiles;

    const double full = std::ceil(s.context / columns);
    const double first =
        std::ceil((s.context - s.query_tokens) / columns) + std::max(1.0, prefill_rows / per_row / columns);
    const double mean = row_tiles <= 1 ? full : (full + std::min(full, first)) / 2;
    const Seconds tile =
        2 * prefill_rows * columns * (s.qk_dim + s.v_dim) * flop / (c.matrix * ceilings.peaks.matrix16 / sms);
    const Seconds longest = c.block + full * c.chain * tile;
    KernelTime t;
    t.compute = max(longest, std::ceil(blocks / sms) * (c.block + mean * tile));

    const Bytes q = tokens * s.heads * s.qk_dim * 2 * byte;
    const Bytes out = tokens * s.heads * s.v_dim * 2 * byte;
    const Bytes fresh = tokens * s.kv_heads * (s.qk_dim + s.v_dim) * 2 * byte;
    const Bytes cached = s.sequences * (s.context - s.query_tokens) * s.kv_heads * (s.qk_dim + s.v_dim) *
                         s.cache_element * byte;
    const Bytes footprint =
        q + out + fresh + cached + std::min(1.0, c.copies_q) * q + std::min(1.0, c.copies_kv) * fresh;
    const double hit = hit_rate(footprint, ceilings.peaks.l2, l2_prefill, s.residency);
    const auto streamed = [&](Bytes bytes) { return stream(bytes, hit, c.l2_rate, ceilings.memory_rate()); };
    t.memory = streamed(q + out + fresh + cached);

    // The cache write runs one block of up to 512 threads per token; 2048 threads live on an SM.
    const double threads = std::min(512.0, s.kv_heads * s.v_dim);
    const Seconds append = tokens * threads / (2048 * sms) * c.append;
    t.launch = c.launch;
    t.total =
        c.launch + append + overlap(t.compute, t.memory) + streamed(c.copies_q * q + c.copies_kv * fresh);
    return t;
}

}  // namespace headroom
