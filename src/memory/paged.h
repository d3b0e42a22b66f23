// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/allocator.h"
#include "memory/block_pool.h"

#include <vector>

namespace headroom {

/// Blocks of a fixed number of tokens, any block for any sequence, taken as the sequence grows. As no block
/// has more than one owner, they are only counted.
class PagedAllocator {
  public:
    PagedAllocator(std::int64_t region, std::int64_t block)
        : region_(region), block_(block), pool_(region / block) {}

    bool admit(int slot, const Demand& demand);
    bool fork(int, int child, const Demand& demand) { return admit(child, demand); }
    bool grow(int slot);
    std::int64_t room(int slot) const { return held(slot) * block_; }
    void advance(std::int64_t n) { used_ += n; }
    void release(int slot, std::int64_t tokens);
    std::int64_t piece(const Demand&) const { return 0; }
    Usage usage(std::int64_t waiting) const;
    std::int64_t period() const { return block_; }
    bool never(const Demand& d) const { return blocks_for(d.final_tokens, block_) > pool_.total(); }

    /// Blocks of a sequence.
    std::int64_t held(int slot) const { return held_[static_cast<std::size_t>(slot)]; }

  private:
    std::int64_t region_, block_;
    std::int64_t used_ = 0;
    BlockPool pool_;
    std::vector<std::int64_t> held_;  // blocks, by sequence
};

}  // namespace headroom
