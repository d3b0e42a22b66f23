// SPDX-License-Identifier: Apache-2.0
#include "memory/paged.h"

namespace headroom {

bool PagedAllocator::admit(int slot, const Demand& demand) {
    const std::int64_t wanted = blocks_for(demand.tokens, block_);
    if (!pool_.take(wanted)) return false;
    const auto at = static_cast<std::size_t>(slot);
    if (at >= held_.size()) held_.resize(at + 1);
    held_[at] = wanted;
    used_ += demand.tokens;
    return true;
}

bool PagedAllocator::grow(int slot) {
    if (!pool_.take(1)) return false;
    ++held_[static_cast<std::size_t>(slot)];
    return true;
}

void PagedAllocator::release(int slot, std::int64_t tokens) {
    pool_.give(held_[static_cast<std::size_t>(slot)]);
    held_[static_cast<std::size_t>(slot)] = 0;
    used_ -= tokens;
}

Usage PagedAllocator::usage(std::int64_t) const {
    Usage u;
    u.region = region_;
    u.used = used_;
    u.free = pool_.empty() * block_;
    u.external = region_ - pool_.total() * block_;
    u.internal = pool_.used() * block_ - used_;
    return u;
}

}  // namespace headroom
