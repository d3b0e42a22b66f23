// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/allocator.h"

#include <map>
#include <set>

namespace headroom {

/// What a buddy piece is made for: the length that the sequence will come to, the prompt and the output's
/// next power of two (a guess at most twice too long), or the longest sequence there may be. They are the
/// three variants of Orca in the PagedAttention paper (SOSP 2023, section 6.1).
enum class BuddySize { known, guessed, longest };

/// Pieces of a power of two, split and joined in pairs (Knowlton 1965). A region that is no power of two is
/// the powers of two that it is made of.
class BuddyAllocator {
  public:
    BuddyAllocator(std::int64_t region, BuddySize size, std::int64_t max_length);

    bool admit(int slot, const Demand& demand);
    bool fork(int, int child, const Demand& demand) { return admit(child, demand); }
    bool grow(int) { return false; }
    std::int64_t room(int slot) const { return pieces_[static_cast<std::size_t>(slot)].wanted; }
    void advance(std::int64_t n) { used_ += n; }
    void release(int slot, std::int64_t tokens);
    std::int64_t piece(const Demand& d) const;
    Usage usage(std::int64_t waiting) const;
    std::int64_t period() const { return 0; }
    bool never(const Demand& d) const { return d.final_tokens > max_length_ || piece(d) > largest_; }

    struct Piece {
        std::int64_t place = -1, size = 0, wanted = 0;
    };
    Piece piece_of(int slot) const;

  private:
    std::int64_t wanted(const Demand& d) const;
    std::int64_t top_size(std::int64_t place) const;  // of the power of two that the place lies in

    std::int64_t region_, max_length_, largest_ = 0;
    BuddySize size_;
    std::int64_t held_ = 0, wanted_ = 0, used_ = 0;
    std::vector<std::set<std::int64_t>> free_;   // places by order
    std::map<std::int64_t, std::int64_t> tops_;  // place, size
    std::vector<Piece> pieces_;                  // by sequence
};

}  // namespace headroom
