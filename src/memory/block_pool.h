// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace headroom {

/// Blocks that hold `tokens`, of `block` tokens each.
constexpr std::int64_t blocks_for(std::int64_t tokens, std::int64_t block) {
    return (tokens + block - 1) / block;
}

/// A pool of equal blocks: who has how many, and which of them several sequences share. Every block is empty,
/// taken, or kept for its content though nobody holds it; kept ones give way when room is needed, the least
/// recently used first. Blocks of one sequence alone are only counted; those that are shared, found again by
/// content or listed in a block table are parts: runs of blocks with holders.
class BlockPool {
  public:
    using Part = std::uint32_t;
    static constexpr Part kNone = 0xffffffffu;

    explicit BlockPool(std::int64_t blocks) : total_(blocks), empty_(blocks) {}

    std::int64_t total() const { return total_; }
    std::int64_t empty() const { return empty_; }
    std::int64_t kept() const { return kept_; }
    std::int64_t used() const { return total_ - empty_ - kept_; }

    /// Takes blocks; false, and nothing taken, when empty and kept ones together are too few.
    bool take(std::int64_t blocks);
    void give(std::int64_t blocks) { empty_ += blocks; }

    /// Makes blocks that were taken a part with one holder. The number of a part may be used again when its
    /// blocks are empty.
    Part make(std::int64_t blocks);
    /// Gives a part's content a name by which it is found; false when another part has it already.
    bool name(Part part, std::uint64_t content);
    /// The part of that name, or `kNone`.
    Part find(std::uint64_t content) const;
    void hold(Part part);
    /// Without a holder, a part with a name is kept; one without a name becomes empty blocks.
    void drop(Part part);
    int holders(Part part) const { return parts_[part].holders; }
    std::int64_t named() const { return static_cast<std::int64_t>(by_name_.size()); }

  private:
    struct Entry {
        std::int64_t blocks = 0;
        std::uint64_t name = 0;
        int holders = 0;
        bool named = false;
        Part older = kNone, newer = kNone;  // among the kept
    };

    void evict_oldest();
    void unlink(Part part);

    std::int64_t total_, empty_, kept_ = 0;
    std::vector<Entry> parts_;
    std::vector<Part> unused_;  // numbers of parts that are no more
    std::unordered_map<std::uint64_t, Part> by_name_;
    Part oldest_ = kNone, newest_ = kNone;
};

}  // namespace headroom
