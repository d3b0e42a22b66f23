// SPDX-License-Identifier: Apache-2.0
#include "memory/paged.h"

namespace headroom {

bool PagedAllocator::admit(int slot, const Demand& demand) {
    const std::int64_t wanted = blocks_for(demand.tokens, block_);
    if (!pool_.take(wanted)) return false;
    const auto at = static_cast<std::size_t>(slot);
    if (at >= tables_.size()) tables_.resize(at + 1);
    tables_[at].clear();
    for (std::int64_t i = 0; i < wanted; ++i) tables_[at].push_back(pool_.make(1));
    used_ += demand.tokens;
    return true;
}

bool PagedAllocator::grow(int slot) {
    if (!pool_.take(1)) return false;
    tables_[static_cast<std::size_t>(slot)].push_back(pool_.make(1));
    return true;
}

void PagedAllocator::release(int slot, std::int64_t tokens) {
    auto& table = tables_[static_cast<std::size_t>(slot)];
    for (const BlockPool::Part block : table) pool_.drop(block);
    table.clear();
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

std::span<const std::uint32_t> PagedAllocator::table(int slot) const {
    const auto at = static_cast<std::size_t>(slot);
    return at < tables_.size() ? std::span<const std::uint32_t>(tables_[at])
                               : std::span<const std::uint32_t>{};
}

}  // namespace headroom
