// SPDX-License-Identifier: Apache-2.0
#include "perf/attention_time.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

constexpr double latent_tile = 64;
constexpr double rows_tile = 128;

/// The slower of the host that issues kernels and the device that runs them, without a corner (one runs ahead
/// of the other only so far).
Seconds slower(Seconds host, Seconds device) {
    constexpr double sharpness = 8;
    return Seconds(
        std::pow(std::pow(host.base(), sharpness) + std::pow(device.base(), sharpness), 1 / sharpness));
}

/// The smallest call was timed with its kernels issued one by one; inside a graph each follows the other
/// sooner.
Seconds launch_time(const MlaShape& s, const Ceilings& ceilings, Seconds issued) {
    const StreamCeilings& c = ceilings.stream;
    return s.host_issued || c.issue <= c.launch ? issued : (c.launch / c.issue) * issued;
}

void issue(KernelTime& t, const MlaShape& s, const MlaCeilings& c, Seconds host) {
    if (s.host_issued && host > Seconds()) {
        t.total = slower(host + (s.host_issued8 ? c.host8 : Seconds()), t.total);
    }
}

}  // namespace

KernelTime mla_decode_time(const MlaShape& s, const Ceilings& ceilings) {
    const MlaCeilings& c = ceilings.mla;
    const double sms = ceilings.peaks.sms;
    const double latent = s.rank + s.rope_dim;
    const double blocks = s.sequences * std::ceil(s.heads * s.query_tokens / c.decode_heads);
    const double tiles = std::ceil(s.context / latent_tile);
    const double splits = c.decode_splits >= 1 ? std::min(c.decode_splits, tiles)
                                               : std::ceil(tiles / std::ceil(blocks * tiles / sms));
    const Seconds least = 2 * s.heads * s.query_tokens *
                          std::min(1.0, c.decode_heads / (s.heads * s.query_tokens)) * latent_tile *
                          (latent + s.rank) * flop / ceilings.peaks.matrix16 * sms;
    KernelTime t;
    t.launch = launch_time(s, ceilings, c.decode_launch);
    t.compute = std::ceil(blocks * splits / sms) *
                (c.decode_block + std::ceil(tiles / splits) * max(least, c.decode_tile * (latent / 576)));
    t.memory = s.sequences * s.context * latent * s.cache_element * byte / ceilings.memory_rate();
    // Queries and outputs in the latent space and the per-head products that lead in and out of it.
    const Bytes around =
        s.sequences * s.query_tokens * s.heads * (latent + s.rank + s.nope_dim + s.v_dim) * 2 * byte;
    t.total = t.launch + overlap(t.compute, t.memory) + c.decode_copies * around / ceilings.memory_rate();
    issue(t, s, c, c.decode_host);
    return t;
}

KernelTime mla_prefill_time(const MlaShape& s, const Ceilings& ceilings) {
    const MlaCeilings& c = ceilings.mla;
    const double sms = ceilings.peaks.sms;
    const double qk = s.nope_dim + s.rope_dim;
    const double columns = ceilings.prefill.packed > 0.5 ? 128 : 64;
    const double row_tiles = std::ceil(s.query_tokens / rows_tile);
    const double full = std::ceil(s.context / columns);
    const double first =
        std::ceil((s.context - s.query_tokens) / columns) + std::max(1.0, rows_tile / columns);
    const double mean = row_tiles <= 1 ? full : (full + std::min(full, first)) / 2;
    const FlopRate rate = c.prefill_matrix * ceilings.peaks.matrix16;
    const Seconds tile = 2 * rows_tile * columns * (qk + s.v_dim) * flop / (rate / sms);

    KernelTime t;
    t.launch = launch_time(s, ceilings, c.prefill_launch);
    t.compute = max(full * tile, std::ceil(s.sequences * s.heads * row_tiles / sms) * mean * tile);
    const double tokens = s.sequences * s.query_tokens;
    // Beside q, k, v and the output of every head: the latent, projected, normed, cached and read to be
    // expanded.
    const Bytes bytes = tokens * (s.heads * (2 * qk + 2 * s.v_dim) + 4 * (s.rank + s.rope_dim)) * 2 * byte;
    t.memory = bytes / ceilings.memory_rate();
    const Seconds expand =
        2 * s.sequences * s.context * s.rank * s.heads * (s.nope_dim + s.v_dim) * flop / rate;
    t.total = t.launch + overlap(t.compute, t.memory) + expand + c.prefill_copies * t.memory;
    issue(t, s, c, c.prefill_host);
    return t;
}

}  // namespace headroom
