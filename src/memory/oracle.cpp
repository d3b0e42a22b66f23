// SPDX-License-Identifier: Apache-2.0
#include "memory/oracle.h"

#include <algorithm>

namespace headroom {

OracleAllocator::OracleAllocator(std::int64_t region) : region_(region) { holes_.emplace(0, region); }

bool OracleAllocator::admit(int slot, const Demand& demand) {
    const std::int64_t size = demand.final_tokens;
    const auto hole =
        std::find_if(holes_.begin(), holes_.end(), [&](const auto& h) { return h.second >= size; });
    if (hole == holes_.end()) return false;
    const auto at = static_cast<std::size_t>(slot);
    if (at >= pieces_.size()) pieces_.resize(at + 1);
    pieces_[at] = {hole->first, size};
    const std::int64_t rest = hole->second - size;
    holes_.erase(hole);
    if (rest > 0) holes_.emplace(pieces_[at].place + size, rest);
    held_ += size;
    used_ += demand.tokens;
    return true;
}

void OracleAllocator::release(int slot, std::int64_t tokens) {
    Piece& piece = pieces_[static_cast<std::size_t>(slot)];
    auto hole = holes_.emplace(piece.place, piece.size).first;
    if (const auto next = std::next(hole);
        next != holes_.end() && hole->first + hole->second == next->first) {
        hole->second += next->second;
        holes_.erase(next);
    }
    if (hole != holes_.begin()) {
        const auto before = std::prev(hole);
        if (before->first + before->second == hole->first) {
            before->second += hole->second;
            holes_.erase(hole);
        }
    }
    held_ -= piece.size;
    used_ -= tokens;
    piece = {};
}

Usage OracleAllocator::usage(std::int64_t waiting) const {
    Usage u;
    u.region = region_;
    u.used = used_;
    u.reservation = held_ - used_;
    u.free = region_ - held_;
    // There is enough for what waits, but not in one piece.
    if (waiting > 0 && u.free >= waiting) std::swap(u.free, u.external);
    return u;
}

OracleAllocator::Piece OracleAllocator::piece_of(int slot) const {
    const auto at = static_cast<std::size_t>(slot);
    return at < pieces_.size() ? pieces_[at] : Piece{};
}

}  // namespace headroom
