// SPDX-License-Identifier: Apache-2.0
#include "perf/collective_time.h"

namespace headroom {
namespace {

double steps(const CollectiveShape& s) {
    switch (s.kind) {
        case CollectiveKind::AllReduce:
            return 2 * (s.devices - 1);
        case CollectiveKind::AllGather:
        case CollectiveKind::ReduceScatter:
            return s.devices - 1;
        case CollectiveKind::AllToAll:
            return 1;  // all pairs at once
    }
    return 0;
}

}  // namespace

Bytes wire_bytes(const CollectiveShape& s) {
    const double part = static_cast<double>(s.devices - 1) / s.devices;
    return (s.kind == CollectiveKind::AllReduce ? 2 : 1) * part * s.bytes;
}

Seconds collective_floor(const CollectiveShape& s, const Peaks& peaks) {
    if (s.devices <= 1 || peaks.link == Bandwidth()) {
        return {};
    }
    const Bytes least = s.kind == CollectiveKind::AllReduce ? min(wire_bytes(s), s.bytes) : wire_bytes(s);
    return least / peaks.link;
}

Seconds collective_time(const CollectiveShape& s, const Ceilings& ceilings) {
    const CollectiveCeilings& c = ceilings.collective;
    const Bandwidth link = ceilings.peaks.link;
    if (s.devices <= 1 || link == Bandwidth()) {
        return {};
    }
    const Bytes wire = wire_bytes(s);
    const Seconds start = c.base + steps(s) * c.hop;
    const double share = s.kind == CollectiveKind::AllToAll ? c.pairs : c.ring;
    Seconds best = min(start + wire / (c.low_latency * link), start + c.bulk + wire / (share * link));
    const bool reduces = s.kind == CollectiveKind::AllReduce;
    if (reduces && c.in_switch > 0 && s.devices >= 8 && s.element > 1) {
        best = min(best, c.base + 2 * c.hop + c.bulk + s.bytes / (c.in_switch * link));
    }
    if (reduces && s.engine_kernel && c.one_shot > Seconds()) {
        // Every device reads the whole message of each of the others and adds them up itself.
        best = min(best, c.one_shot + (s.devices - 1) * s.bytes / (c.ring * link));
    }
    return best;
}

}  // namespace headroom
