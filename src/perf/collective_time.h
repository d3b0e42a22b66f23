// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/work.h"
#include "spec/ceilings.h"

namespace headroom {

struct CollectiveOptions {
    bool switch_reduces = true;  ///< the switch can add up this type (16 and 32-bit ones)
    bool engine_kernel = false;  ///< an engine's one-shot all-reduce is used where it is faster
};

/// The floor over the links: link bytes at the datasheet rate. An all-reduce inside the switch moves each
/// byte once up and once down, so the floor of a reduction is the smaller of the message and the ring's
/// bytes.
Seconds collective_floor(const Collective& op, const Peaks& peaks);

/// The least of the low-latency protocol, the bandwidth protocol (ring or switch) and, where allowed, one
/// shot:
///   base + steps hop + link bytes/(low_latency link);  base + steps hop + bulk + link bytes/(ring link)
/// An all-to-all sends to all at once, so it has one step whatever the number of GPUs.
Seconds collective_time(const Collective& op, const Ceilings& ceilings,
                        const CollectiveOptions& options = {});

}  // namespace headroom
