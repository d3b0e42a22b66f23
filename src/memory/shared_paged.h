// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/allocator.h"
#include "memory/block_pool.h"

#include <span>

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
    bool never(const Demand& d) const { return blocks_for(d.final_tokens, block_) > pool_.total(); }

    /// The blocks of a sequence, in order, and how many sequences use a block.
    std::span<const std::uint32_t> table(int slot) const;
    int references(std::uint32_t block) const { return pool_.holders(block); }
    /// Blocks by what they are: in use, kept for their content, empty.
    std::int64_t in_use() const { return pool_.used(); }
    std::int64_t cached() const { return pool_.kept(); }
    std::int64_t empty() const { return pool_.empty(); }
    std::int64_t found_tokens() const { return found_; }  ///< of prompts, in blocks that were there
    std::int64_t prompt_tokens() const { return prompts_; }

  private:
    struct Sequence {
        std::vector<std::uint32_t> table;
        std::int64_t unsaved =
            -1;  // tokens it had when it came to share an unfilled block; -1: it shares none
    };

    void identify(const Demand& demand);

    std::int64_t region_, block_;
    BlockPool pool_;              // a part is a block
    std::int64_t logical_ = 0;    // tokens of live sequences
    std::int64_t duplicate_ = 0;  // of them, served by a copy counted for another
    std::int64_t found_ = 0, prompts_ = 0;
    std::vector<Sequence> sequences_;
    std::vector<std::uint64_t> names_;  // of a prompt's full blocks; both are kept for their memory
    std::vector<std::uint32_t> found_blocks_;
};

}  // namespace headroom
