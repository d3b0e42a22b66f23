// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/allocator.h"
#include "memory/block_pool.h"

#include <span>

namespace headroom {

/// Blocks of a fixed number of tokens, any block for any sequence, taken as the sequence grows.
class PagedAllocator {
  public:
    PagedAllocator(std::int64_t region, std::int64_t block)
        : region_(region), block_(block), pool_(region / block) {}

    bool admit(int slot, const Demand& demand);
    bool fork(int, int child, const Demand& demand) { return admit(child, demand); }
    bool grow(int slot);
    std::int64_t room(int slot) const {
        return static_cast<std::int64_t>(tables_[static_cast<std::size_t>(slot)].size()) * block_;
    }
    void advance(std::int64_t n) { used_ += n; }
    void release(int slot, std::int64_t tokens);
    std::int64_t piece(const Demand&) const { return 0; }
    Usage usage(std::int64_t waiting) const;
    std::int64_t period() const { return block_; }
    bool never(const Demand& d) const { return blocks_for(d.final_tokens, block_) > pool_.total(); }

    /// The blocks of a sequence, in order.
    std::span<const std::uint32_t> table(int slot) const;

  private:
    std::int64_t region_, block_;
    std::int64_t used_ = 0;
    BlockPool pool_;                                  // a part is a block
    std::vector<std::vector<std::uint32_t>> tables_;  // by sequence
};

}  // namespace headroom
