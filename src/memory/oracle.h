// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/allocator.h"

#include <map>

namespace headroom {

/// Contiguous room for exactly the length that the sequence will come to, as if outputs were known; placed
/// first-fit. No engine can do it: the best that reservation could be.
class OracleAllocator {
  public:
    explicit OracleAllocator(std::int64_t region);

    bool admit(int slot, const Demand& demand);
    bool fork(int, int child, const Demand& demand) { return admit(child, demand); }
    bool grow(int) { return false; }
    std::int64_t room(int slot) const { return pieces_[static_cast<std::size_t>(slot)].size; }
    void advance(std::int64_t n) { used_ += n; }
    void release(int slot, std::int64_t tokens);
    std::int64_t piece(const Demand& d) const { return d.final_tokens; }
    Usage usage(std::int64_t waiting) const;
    std::int64_t period() const { return 0; }
    bool never(const Demand& d) const { return d.final_tokens > region_; }

    struct Piece {
        std::int64_t place = -1, size = 0;
    };
    Piece piece_of(int slot) const;

  private:
    std::int64_t region_;
    std::int64_t held_ = 0, used_ = 0;
    std::map<std::int64_t, std::int64_t> holes_;  // place, size; neighbours are always joined
    std::vector<Piece> pieces_;                   // by sequence
};

}  // namespace headroom
