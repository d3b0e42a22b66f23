// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "perf/ceilings.h"

namespace headroom {

enum class CollectiveKind { AllReduce, AllGather, ReduceScatter, AllToAll };

/// `bytes` is the whole message: of an all-gather the gathered result, of a reduce-scatter the input, of an
/// all-to-all what one device holds.
struct CollectiveShape {
    CollectiveKind kind = CollectiveKind::AllReduce;
    Bytes bytes;
    int devices = 1;
    double element = 2;         ///< switches reduce 16 and 32-bit elements, not 8-bit ones
    bool engine_kernel = false; ///< an engine's one-shot all-reduce may be used where it is faster
};

/// Bytes that the busiest direction of a device's link must carry: 2 (n-1)/n of an all-reduce, (n-1)/n else.
Bytes wire_bytes(const CollectiveShape& shape);

/// The floor over the links: wire bytes at the datasheet rate. An all-reduce inside the switch moves each byte
/// once up and once down, so its floor is half of the ring's for many devices.
Seconds collective_floor(const CollectiveShape& shape, const Peaks& peaks);

/// The least of the low-latency protocol, the bandwidth protocol (ring or switch) and, where allowed, one shot:
///   base + steps hop + wire/(low_latency link);  base + steps hop + bulk + wire/(ring link)
Seconds collective_time(const CollectiveShape& shape, const Ceilings& ceilings);

}  // namespace headroom
