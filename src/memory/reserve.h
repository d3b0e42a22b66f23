// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/allocator.h"

namespace headroom {

/// Contiguous room for the longest sequence there may be, whatever comes of it: what an engine without block
/// tables does. All pieces are of one size, so placement cannot fragment; the region's remainder is lost.
class ReserveAllocator {
  public:
    ReserveAllocator(std::int64_t region, std::int64_t max_length);

    bool admit(int slot, const Demand& demand);
    bool fork(int, int child, const Demand& demand) { return admit(child, demand); }
    bool grow(int) { return false; }
    std::int64_t room(int) const { return max_length_; }
    void advance(std::int64_t n) { used_ += n; }
    void release(int slot, std::int64_t tokens);
    std::int64_t piece(const Demand&) const { return max_length_; }
    Usage usage(std::int64_t waiting) const;
    std::int64_t period() const { return 0; }
    bool never(const Demand& d) const { return d.final_tokens > max_length_ || pieces_ == 0; }

    /// Where a sequence's piece begins; -1 when it has none.
    std::int64_t place(int slot) const;

  private:
    std::int64_t region_, max_length_, pieces_;
    std::int64_t held_ = 0, used_ = 0;
    std::vector<std::int64_t> free_;    // places of free pieces
    std::vector<std::int64_t> places_;  // by sequence
};

}  // namespace headroom
