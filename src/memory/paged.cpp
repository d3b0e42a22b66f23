// SPDX-License-Identifier: Apache-2.0
#include "memory/paged.h"

namespace headroom {

PagedAllocator::PagedAllocator(std::int64_t region, std::int64_t block)
    : region_(region), block_(block), blocks_(region / block) {
    free_.reserve(static_cast<std::size_t>(blocks_));
    for (std::int64_t i = blocks_; i-- > 0;) free_.push_back(static_cast<std::uint32_t>(i));
}

bool PagedAllocator::admit(int slot, const Demand& demand) {
    const std::int64_t wanted = blocks_for(demand.tokens);
    if (wanted > static_cast<std::int64_t>(free_.size())) return false;
    const auto at = static_cast<std::size_t>(slot);
    if (at >= tables_.size()) tables_.resize(at + 1);
    const auto from = free_.end() - wanted;
    tables_[at].assign(from, free_.end());
    free_.erase(from, free_.end());
    used_ += demand.tokens;
    return true;
}

bool PagedAllocator::grow(int slot) {
    if (free_.empty()) return false;
    tables_[static_cast<std::size_t>(slot)].push_back(free_.back());
    free_.pop_back();
    return true;
}

void PagedAllocator::release(int slot, std::int64_t tokens) {
    auto& table = tables_[static_cast<std::size_t>(slot)];
    free_.insert(free_.end(), table.begin(), table.end());
    table.clear();
    used_ -= tokens;
}

Usage PagedAllocator::usage(std::int64_t) const {
    Usage u;
    u.region = region_;
    u.used = used_;
    u.free = static_cast<std::int64_t>(free_.size()) * block_;
    u.external = region_ - blocks_ * block_;
    u.internal = blocks_ * block_ - u.free - used_;
    return u;
}

std::span<const std::uint32_t> PagedAllocator::table(int slot) const {
    const auto at = static_cast<std::size_t>(slot);
    return at < tables_.size() ? std::span<const std::uint32_t>(tables_[at])
                               : std::span<const std::uint32_t>{};
}

}  // namespace headroom
