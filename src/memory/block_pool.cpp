// SPDX-License-Identifier: Apache-2.0
#include "memory/block_pool.h"

namespace headroom {

bool BlockPool::take(std::int64_t blocks) {
    if (blocks > empty_ + kept_) return false;
    while (empty_ < blocks) evict_oldest();
    empty_ -= blocks;
    return true;
}

BlockPool::Part BlockPool::make(std::int64_t blocks) {
    Part part = static_cast<Part>(parts_.size());
    if (unused_.empty()) {
        parts_.emplace_back();
    } else {
        part = unused_.back();
        unused_.pop_back();
    }
    parts_[part].blocks = blocks;
    parts_[part].holders = 1;
    parts_[part].named = false;
    return part;
}

bool BlockPool::name(Part part, std::uint64_t content) {
    if (!by_name_.try_emplace(content, part).second) return false;
    parts_[part].name = content;
    parts_[part].named = true;
    return true;
}

BlockPool::Part BlockPool::find(std::uint64_t content) const {
    const auto found = by_name_.find(content);
    return found == by_name_.end() ? kNone : found->second;
}

void BlockPool::hold(Part part) {
    if (parts_[part].holders++ > 0) return;
    unlink(part);
    kept_ -= parts_[part].blocks;
}

void BlockPool::drop(Part part) {
    Entry& p = parts_[part];
    if (--p.holders > 0) return;
    if (!p.named) {
        empty_ += p.blocks;
        unused_.push_back(part);
        return;
    }
    p.older = newest_;
    p.newer = kNone;
    (newest_ == kNone ? oldest_ : parts_[newest_].newer) = part;
    newest_ = part;
    kept_ += p.blocks;
}

void BlockPool::evict_oldest() {
    const Part part = oldest_;
    unlink(part);
    by_name_.erase(parts_[part].name);
    kept_ -= parts_[part].blocks;
    empty_ += parts_[part].blocks;
    unused_.push_back(part);
}

void BlockPool::unlink(Part part) {
    Entry& p = parts_[part];
    (p.older == kNone ? oldest_ : parts_[p.older].newer) = p.newer;
    (p.newer == kNone ? newest_ : parts_[p.newer].older) = p.older;
    p.older = p.newer = kNone;
}

}  // namespace headroom
