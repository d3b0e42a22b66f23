// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace headroom {

/// A device as its blocks see it. Work is in whatever unit the rates are per second of.
struct BlockMachine {
    int sms = 1;
    int slots = 1;       ///< blocks that live on one SM
    double start_s = 0;  ///< a block takes this long before its work, and uses no rate meanwhile
    double block = 0;    ///< what a block can do per second
    double sm = 0;       ///< what the blocks of one SM can do together
    double device = 0;   ///< what all can do together
};

/// Seconds until the last block is done. Blocks are handed out in order, breadth first, each to the first SM
/// with room; on an SM they share its rate evenly, and all are slowed alike where the device's is short. The
/// work of block i is multiplied by 1 + jitter x (an even sequence in -1 .. 1): without it equal blocks would
/// stay in step for ever, which they do not. O(n log n) for n blocks.
double makespan(std::vector<double> work, double jitter, const BlockMachine& machine);

}  // namespace headroom
