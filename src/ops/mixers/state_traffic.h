// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/work.h"

namespace headroom {

/// A recurrent layer's state of `state` bytes a sequence: once a step it is read, where there is a past, and
/// written.
inline void add_state_traffic(Work& work, const Batch& batch, Bytes state) {
    for (const SequenceGroup& g : batch.groups) {
        if (g.past > 0) work.kv += g.sequences * state;
        work.kv_written += g.sequences * state;
    }
}

}  // namespace headroom
