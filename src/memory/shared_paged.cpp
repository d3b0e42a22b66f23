// SPDX-License-Identifier: Apache-2.0
#include "memory/shared_paged.h"

#include "spec/random.h"

#include <algorithm>

namespace headroom {

SharedPagedAllocator::SharedPagedAllocator(std::int64_t region, std::int64_t block)
    : region_(region), block_(block), pool_(region / block) {}

// Names of the prompt's full blocks. A hash stands for everything up to the end of its tokens, so a block
// that ends where a hash ends has that name, and one that ends inside a hash has its place in it beside it.
void SharedPagedAllocator::identify(const Demand& demand) {
    names_.clear();
    if (demand.request == nullptr || demand.request->prefix.empty()) return;
    const Request& r = *demand.request;
    const std::int64_t per_hash = r.prefix_block;
    const std::int64_t full = std::min(demand.prompt, r.input_tokens) / block_;
    for (std::int64_t i = 0; i < full; ++i) {
        const std::int64_t last = (i + 1) * block_ - 1;  // token
        const auto at = static_cast<std::size_t>(last / per_hash);
        if (at >= r.prefix.size()) return;
        names_.push_back(mix(r.prefix[at]) + mix(static_cast<std::uint64_t>(last % per_hash)));
    }
}

bool SharedPagedAllocator::admit(int slot, const Demand& demand) {
    identify(demand);
    found_blocks_.clear();
    std::int64_t revived = 0;
    while (found_blocks_.size() < names_.size()) {
        const BlockPool::Part known = pool_.find(names_[found_blocks_.size()]);
        if (known == BlockPool::kNone) break;
        revived += pool_.holders(known) == 0 ? 1 : 0;
        found_blocks_.push_back(known);
    }
    const std::size_t found = found_blocks_.size();
    const std::int64_t fresh = blocks_for(demand.tokens, block_) - static_cast<std::int64_t>(found);
    if (fresh > pool_.empty() + pool_.kept() - revived) return false;

    const auto at = static_cast<std::size_t>(slot);
    if (at >= sequences_.size()) sequences_.resize(at + 1);
    auto& table = sequences_[at].table;
    table.clear();
    sequences_[at].unsaved = -1;
    for (const std::uint32_t block : found_blocks_) {
        if (pool_.holders(block) > 0) duplicate_ += block_;
        pool_.hold(block);
        table.push_back(block);
    }
    pool_.take(fresh);
    for (std::int64_t i = 0; i < fresh; ++i) {
        const BlockPool::Part block = pool_.make(1);
        if (table.size() < names_.size()) pool_.name(block, names_[table.size()]);
        table.push_back(block);
    }
    logical_ += demand.tokens;
    found_ += static_cast<std::int64_t>(found) * block_;
    prompts_ += demand.prompt;
    return true;
}

bool SharedPagedAllocator::fork(int parent, int child, const Demand& demand) {
    const auto at = static_cast<std::size_t>(child);
    if (at >= sequences_.size()) sequences_.resize(at + 1);
    Sequence& from = sequences_[static_cast<std::size_t>(parent)];
    Sequence& to = sequences_[at];
    to.table = from.table;
    for (const std::uint32_t block : to.table) pool_.hold(block);
    logical_ += demand.tokens;
    duplicate_ += demand.tokens;
    to.unsaved = from.unsaved = demand.tokens % block_ == 0 ? -1 : demand.tokens;
    return true;
}

std::int64_t SharedPagedAllocator::room(int slot) const {
    const Sequence& s = sequences_[static_cast<std::size_t>(slot)];
    return s.unsaved >= 0 ? s.unsaved : static_cast<std::int64_t>(s.table.size()) * block_;
}

bool SharedPagedAllocator::grow(int slot) {
    Sequence& s = sequences_[static_cast<std::size_t>(slot)];
    const bool copies = s.unsaved >= 0 && pool_.holders(s.table.back()) > 1;
    if (s.unsaved >= 0 && !copies) {  // the others have left or copied
        s.unsaved = -1;
        return true;
    }
    if (!pool_.take(1)) return false;
    const BlockPool::Part block = pool_.make(1);
    if (copies) {
        pool_.drop(s.table.back());
        duplicate_ -= s.unsaved % block_;
        s.table.back() = block;
        s.unsaved = -1;
    } else {
        s.table.push_back(block);
    }
    return true;
}

void SharedPagedAllocator::release(int slot, std::int64_t tokens) {
    Sequence& s = sequences_[static_cast<std::size_t>(slot)];
    logical_ -= tokens;
    // From the end, so that of the blocks that stay cached the last of a prefix is the oldest.
    for (std::size_t i = s.table.size(); i-- > 0;) {
        const std::int64_t begin = static_cast<std::int64_t>(i) * block_;
        if (pool_.holders(s.table[i]) > 1) duplicate_ -= std::clamp<std::int64_t>(tokens - begin, 0, block_);
        pool_.drop(s.table[i]);
    }
    s.table.clear();
    s.unsaved = -1;
}

Usage SharedPagedAllocator::usage(std::int64_t) const {
    Usage u;
    u.region = region_;
    u.used = logical_ - duplicate_;
    u.internal = pool_.used() * block_ - u.used;
    u.cached = pool_.kept() * block_;
    u.free = pool_.empty() * block_ + u.cached;
    u.external = region_ - pool_.total() * block_;
    u.shared = duplicate_;
    return u;
}

std::span<const std::uint32_t> SharedPagedAllocator::table(int slot) const {
    const auto at = static_cast<std::size_t>(slot);
    return at < sequences_.size() ? std::span<const std::uint32_t>(sequences_[at].table)
                                  : std::span<const std::uint32_t>{};
}

}  // namespace headroom
