// SPDX-License-Identifier: Apache-2.0
#include "perf/collective_time.h"

namespace headroom {
namespace {

double steps(const Collective& op) {
    switch (op.kind) {
        case CollectiveKind::all_reduce:
            return 2.0 * (op.gpus - 1);
        case CollectiveKind::all_gather:
        case CollectiveKind::reduce_scatter:
            return op.gpus - 1;
        case CollectiveKind::all_to_all:
        case CollectiveKind::send:
            return 1;
    }
    return 0;
}

/// GPUs from which the switch's own reduction is used (NCCL takes rings below).
constexpr int switch_from = 8;

}  // namespace

Seconds collective_floor(const Collective& op, const Peaks& peaks) {
    if (op.gpus <= 1 || peaks.link == Bandwidth()) return {};
    const Bytes ring = link_bytes(op);
    return (op.kind == CollectiveKind::all_reduce ? min(ring, op.bytes) : ring) / peaks.link;
}

Seconds collective_time(const Collective& op, const Ceilings& ceilings, const CollectiveOptions& options) {
    const CollectiveCeilings& c = ceilings.collective;
    const Bandwidth link = ceilings.peaks.link;
    if (op.gpus <= 1 || link == Bandwidth()) return {};
    const Bytes wire = link_bytes(op);
    const Seconds start = c.base + steps(op) * c.hop;
    const double share = op.kind == CollectiveKind::all_to_all ? c.pairs : c.ring;
    Seconds best = min(start + wire / (c.low_latency * link), start + c.bulk + wire / (share * link));
    if (op.kind != CollectiveKind::all_reduce) return best;
    if (options.switch_reduces && c.in_switch > 0 && op.gpus >= switch_from)
        best = min(best, c.base + 2 * c.hop + c.bulk + op.bytes / (c.in_switch * link));
    // One shot: every GPU reads the whole message of each of the others and adds them up itself.
    if (options.engine_kernel && c.one_shot > Seconds())
        best = min(best, c.one_shot + (op.gpus - 1) * op.bytes / (c.ring * link));
    return best;
}

}  // namespace headroom
