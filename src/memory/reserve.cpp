// SPDX-License-Identifier: Apache-2.0
#include "memory/reserve.h"

#include <algorithm>

namespace headroom {

ReserveAllocator::ReserveAllocator(std::int64_t region, std::int64_t max_length)
    : region_(region), max_length_(max_length), pieces_(region / max_length) {
    for (std::int64_t i = pieces_; i-- > 0;) free_.push_back(i * max_length_);
}

bool ReserveAllocator::admit(int slot, const Demand& demand) {
    if (free_.empty() || demand.tokens > max_length_) return false;
    const auto at = static_cast<std::size_t>(slot);
    if (at >= places_.size()) places_.resize(at + 1, -1);
    places_[at] = free_.back();
    free_.pop_back();
    ++held_;
    used_ += demand.tokens;
    return true;
}

void ReserveAllocator::release(int slot, std::int64_t tokens) {
    std::int64_t& place = places_[static_cast<std::size_t>(slot)];
    free_.push_back(place);
    place = -1;
    --held_;
    used_ -= tokens;
}

Usage ReserveAllocator::usage(std::int64_t) const {
    Usage u;
    u.region = region_;
    u.used = used_;
    u.reservation = held_ * max_length_ - used_;
    u.external = region_ - pieces_ * max_length_;
    u.free = (pieces_ - held_) * max_length_;
    return u;
}

std::int64_t ReserveAllocator::place(int slot) const {
    const auto at = static_cast<std::size_t>(slot);
    return at < places_.size() ? places_[at] : -1;
}

}  // namespace headroom
