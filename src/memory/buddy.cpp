// SPDX-License-Identifier: Apache-2.0
#include "memory/buddy.h"

#include <algorithm>
#include <bit>

namespace headroom {
namespace {

std::int64_t power_above(std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, n))));
}

std::size_t order_of(std::int64_t power) {
    return static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(power)));
}

}  // namespace

BuddyAllocator::BuddyAllocator(std::int64_t region, BuddySize size, std::int64_t max_length)
    : region_(region), max_length_(max_length), size_(size), free_(64) {
    // Largest first, so that each power of two begins at a multiple of itself.
    std::int64_t place = 0;
    for (std::size_t order = 63; order-- > 0;) {
        const std::int64_t power = std::int64_t{1} << order;
        if ((region & power) == 0) continue;
        free_[order].insert(place);
        tops_.emplace(place, power);
        largest_ = std::max(largest_, power);
        place += power;
    }
}

std::int64_t BuddyAllocator::wanted(const Demand& d) const {
    switch (size_) {
        case BuddySize::known:
            return d.final_tokens;
        case BuddySize::guessed:
            return std::min(max_length_, d.prompt + power_above(d.final_tokens - d.prompt));
        case BuddySize::longest:
            break;
    }
    return max_length_;
}

std::int64_t BuddyAllocator::piece(const Demand& d) const { return power_above(wanted(d)); }

std::int64_t BuddyAllocator::top_size(std::int64_t place) const {
    return std::prev(tops_.upper_bound(place))->second;
}

bool BuddyAllocator::admit(int slot, const Demand& demand) {
    const std::int64_t size = piece(demand);
    std::size_t order = order_of(size);
    while (order < free_.size() && free_[order].empty()) ++order;
    if (order == free_.size()) return false;
    const std::int64_t place = *free_[order].begin();
    free_[order].erase(free_[order].begin());
    while ((std::int64_t{1} << order) > size) {
        --order;
        free_[order].insert(place + (std::int64_t{1} << order));
    }
    const auto at = static_cast<std::size_t>(slot);
    if (at >= pieces_.size()) pieces_.resize(at + 1);
    pieces_[at] = {place, size, wanted(demand)};
    held_ += size;
    wanted_ += pieces_[at].wanted;
    used_ += demand.tokens;
    return true;
}

void BuddyAllocator::release(int slot, std::int64_t tokens) {
    Piece& piece = pieces_[static_cast<std::size_t>(slot)];
    held_ -= piece.size;
    wanted_ -= piece.wanted;
    used_ -= tokens;
    std::int64_t place = piece.place, size = piece.size;
    const std::int64_t top = top_size(place);
    for (; size < top; size *= 2) {
        const std::int64_t other = place ^ size;
        auto& free = free_[order_of(size)];
        if (free.erase(other) == 0) break;
        place = std::min(place, other);
    }
    free_[order_of(size)].insert(place);
    piece = {};
}

Usage BuddyAllocator::usage(std::int64_t waiting) const {
    Usage u;
    u.region = region_;
    u.used = used_;
    u.internal = held_ - wanted_;
    u.reservation = wanted_ - used_;
    u.free = region_ - held_;
    if (waiting > 0 && u.free >= waiting) std::swap(u.free, u.external);
    return u;
}

BuddyAllocator::Piece BuddyAllocator::piece_of(int slot) const {
    const auto at = static_cast<std::size_t>(slot);
    return at < pieces_.size() ? pieces_[at] : Piece{};
}

}  // namespace headroom
