// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/allocator.h"

#include <span>
#include <unordered_map>

namespace headroom {

/// Blocks of a fixed number of tokens with reference counts. Full blocks of prompts are found again by their
/// prefix hash; those that nobody uses stay until their room is needed, the least recently used leave first.
/// Copies (parallel samples, beams) share all blocks; a shared block that is not full is copied before the
/// next write (copy-on-write). Generated tokens are not found again, since traces have no hashes of them.
class SharedPagedAllocator {
  public:
    SharedPagedAllocator(std::int64_t region, std::int64_t block);

    bool admit(int slot, const Demand& demand);
    bool fork(int parent, int child, const Demand& demand);
    bool grow(int slot);
    std::int64_t room(int slot) const;
    void advance(std::int64_t n) { logical_ += n; }
    void release(int slot, std::int64_t tokens);
    std::int64_t piece(const Demand&) const { return 0; }
    Usage usage(std::int64_t waiting) const;
    std::int64_t period() const { return block_; }
    bool never(const Demand& d) const {
        return blocks_for(d.final_tokens) > static_cast<std::int64_t>(blocks_.size());
    }

    /// The blocks of a sequence, in order, and how many sequences use a block.
    std::span<const std::uint32_t> table(int slot) const;
    int references(std::uint32_t block) const { return blocks_[block].references; }
    /// Blocks by what they are: in use, kept for their content, empty.
    std::int64_t in_use() const { return in_use_; }
    std::int64_t cached() const { return cached_; }
    std::int64_t empty() const { return static_cast<std::int64_t>(free_.size()); }
    std::int64_t found_tokens() const { return found_; }  ///< of prompts, in blocks that were there
    std::int64_t prompt_tokens() const { return prompts_; }

  private:
    static constexpr std::uint32_t kNone = 0xffffffffu;
    struct Block {
        int references = 0;
        bool hashed = false;
        std::uint64_t hash = 0;
        std::uint32_t older = kNone, newer = kNone;  // among the cached
    };
    struct Sequence {
        std::vector<std::uint32_t> table;
        std::int64_t unsaved =
            -1;  // tokens it had when it came to share an unfilled block; -1: it shares none
    };

    std::int64_t blocks_for(std::int64_t tokens) const { return (tokens + block_ - 1) / block_; }
    void identify(const Demand& demand);
    std::uint32_t take();
    void use(std::uint32_t block);
    void drop(std::uint32_t block);
    void unlink(std::uint32_t block);

    std::int64_t region_, block_;
    std::vector<Block> blocks_;
    std::vector<std::uint32_t> free_;
    std::unordered_map<std::uint64_t, std::uint32_t> by_hash_;
    std::uint32_t oldest_ = kNone, newest_ = kNone;
    std::int64_t in_use_ = 0, cached_ = 0;
    std::int64_t logical_ = 0;    // tokens of live sequences
    std::int64_t duplicate_ = 0;  // of them, served by a copy counted for another
    std::int64_t found_ = 0, prompts_ = 0;
    std::vector<Sequence> sequences_;
    std::vector<std::uint64_t> names_;  // of a prompt's full blocks; both are kept for their memory
    std::vector<std::uint32_t> found_blocks_;
};

}  // namespace headroom
