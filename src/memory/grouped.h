// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/allocator.h"
#include "ops/kv_law.h"

#include <vector>

namespace headroom {

/// Layers that share pages: they have the same tokens and are kept or freed together.
struct PageGroup {
    int layers = 0;           ///< real ones; the page has room for `PageLayout::layers`
    std::int64_t window = 0;  ///< tokens that are still needed; 0: all
    std::int64_t token = 0;   ///< bytes that one layer keeps per token; 0: a state
    std::int64_t state = 0;   ///< bytes that one layer keeps per sequence
    std::int64_t block = 0;   ///< tokens of a page of this group
    bool chunked = false;     ///< `window` is a chunk: at its end all of it falls out at once
};

/// How a model's layers are dealt out to groups of equally many layers, whose pages are all of one size and
/// come from one pool (vLLM's hybrid memory allocator).
struct PageLayout {
    std::vector<PageGroup> groups;
    int layers = 0;          ///< of a group, padding included
    std::int64_t block = 0;  ///< tokens of a page of the kind that keeps most per token
    std::int64_t page = 0;   ///< bytes
};

/// The groups of a model: as many layers as the rarest kind has (the commonest, when they differ by less than
/// a quarter), the last group of a kind padded. A state must fit into a page, so the block grows in steps
/// of 16 until it does. Kinds that keep less per token have more tokens in a page, where that divides evenly.
PageLayout page_layout(const ModelKv& kv, std::int64_t block);

/// Pages of a group that does not grow: one for a state, which the block was made to fit; more for an image's
/// tokens.
std::int64_t fixed_pages(const PageLayout& layout, const PageGroup& group);

/// Pages for hybrid models; the unit of its usage is bytes. Window layers free pages that fell out of the
/// window, or keep them (`keep`: an engine without that feature). Padding, and tokens behind the window in
/// pages that are kept, are internal waste.
class GroupedAllocator {
  public:
    GroupedAllocator(std::int64_t region_bytes, PageLayout layout, bool keep);

    bool admit(int slot, const Demand& demand);
    bool fork(int, int child, const Demand& demand) { return admit(child, demand); }
    bool grow(int slot);
    std::int64_t room(int slot) const { return sequences_[static_cast<std::size_t>(slot)].room; }
    void advance(std::int64_t) {}
    /// One sequence wrote a token, and has `tokens` now: windows move.
    void wrote(int slot, std::int64_t tokens);
    void release(int slot, std::int64_t tokens);
    std::int64_t piece(const Demand&) const { return 0; }
    Usage usage(std::int64_t waiting) const;
    std::int64_t period() const { return layout_.block; }
    bool never(const Demand& d) const;

    const PageLayout& layout() const { return layout_; }
    /// Pages of a sequence in a group, oldest first.
    std::vector<std::uint32_t> pages(int slot, std::size_t group) const;

  private:
    struct Pages {
        std::vector<std::uint32_t> held;
        std::size_t freed = 0;  // of `held`, from the front
    };
    struct Sequence {
        std::vector<Pages> groups;
        std::int64_t room = 0;
    };

    std::int64_t first_needed(const PageGroup& g, std::int64_t tokens) const;
    std::int64_t pages_for(const PageGroup& g, std::int64_t tokens) const;
    std::int64_t live_bytes(std::int64_t tokens) const;

    PageLayout layout_;
    std::int64_t region_;
    bool keep_;
    std::int64_t pages_ = 0, used_ = 0;
    std::vector<std::uint32_t> free_;
    std::vector<Sequence> sequences_;
};

}  // namespace headroom
