// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/allocator.h"

#include <span>

namespace headroom {

/// Blocks of a fixed number of tokens, any block for any sequence, taken as the sequence grows.
class PagedAllocator {
  public:
    PagedAllocator(std::int64_t region, std::int64_t block);

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
    bool never(const Demand& d) const { return blocks_for(d.final_tokens) > blocks_; }

    /// The blocks of a sequence, in order.
    std::span<const std::uint32_t> table(int slot) const;

  private:
    std::int64_t blocks_for(std::int64_t tokens) const { return (tokens + block_ - 1) / block_; }

    std::int64_t region_, block_, blocks_;
    std::int64_t used_ = 0;
    std::vector<std::uint32_t> free_;
    std::vector<std::vector<std::uint32_t>> tables_;  // by sequence
};

}  // namespace headroom
