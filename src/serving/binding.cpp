// SPDX-License-Identifier: Apache-2.0
#include "serving/steady.h"

namespace headroom {

Binding binding_of(Bound bound) {
    switch (bound) {
        case Bound::memory:
            return Binding::memory_bandwidth;
        case Bound::compute:
            return Binding::compute;
        case Bound::network:
            return Binding::network;
        case Bound::overhead:
            return Binding::overhead;
    }
    return Binding::memory_bandwidth;
}

std::string to_string(Binding binding) {
    switch (binding) {
        case Binding::memory_bandwidth:
            return "memory bandwidth";
        case Binding::compute:
            return "compute";
        case Binding::network:
            return "network";
        case Binding::overhead:
            return "launch and host overhead";
        case Binding::kv_capacity:
            return "KV capacity";
        case Binding::scheduler:
            return "scheduler";
    }
    return "";
}

}  // namespace headroom
