// SPDX-License-Identifier: Apache-2.0
#include "serving/kv_space.h"

#include <algorithm>
#include <cmath>

namespace headroom {

KvSpace::KvSpace(const Shard& shard, const Hardware& hardware, const Engine& engine, bool keep_prefixes)
    : engine_(engine), keeps_(keep_prefixes) {
    const Capacity c = capacity(shard, hardware, engine, 1);
    kv_ = c.kv;
    block_tokens_ = std::max<std::int64_t>(1, c.block_tokens);
    const auto block = static_cast<double>(block_tokens_);
    uniform_ = std::all_of(kv_.begin(), kv_.end(), [](const KvLayers& part) {
        return part.law.cap == 0 && part.law.per_sequence == Bytes{};
    });
    block_bytes_ = Tokens(block) * growth(kv_);
    // A model whose cache does not grow counts whole sequences.
    if (block_bytes_ <= Bytes{}) block_bytes_ = admitted_bytes(kv_, engine_, 1);
    const double ranks = shard.deployment.dp;
    total_ = static_cast<std::int64_t>(ranks *
                                       std::max(0.0, std::floor(c.ledger.kv / block_bytes_ * (1 + 1e-12))));
    free_ = total_;
}

std::int64_t KvSpace::blocks(std::int64_t tokens) const {
    if (uniform_) return (tokens + block_tokens_ - 1) / block_tokens_;
    const double need = admitted_bytes(kv_, engine_, static_cast<double>(tokens)) / block_bytes_;
    return static_cast<std::int64_t>(std::ceil(need * (1 - 1e-12)));
}

bool KvSpace::take(std::int64_t blocks) {
    if (blocks > free_ + evictable_) return false;
    while (free_ < blocks) {
        const auto oldest = parts_.find(order_.front());
        order_.pop_front();
        free_ += oldest->second.blocks;
        evictable_ -= oldest->second.blocks;
        parts_.erase(oldest);
    }
    free_ -= blocks;
    return true;
}

std::int64_t KvSpace::hold(const std::vector<std::uint64_t>& prefix, std::int64_t most) {
    if (!keeps_) return 0;
    std::int64_t found = 0;
    for (; found < most; ++found) {
        const auto part = parts_.find(prefix[static_cast<std::size_t>(found)]);
        if (part == parts_.end()) break;
        if (part->second.holders++ == 0) {
            order_.erase(part->second.place);
            evictable_ -= part->second.blocks;
        }
    }
    return found;
}

bool KvSpace::keep(std::uint64_t hash, std::int64_t blocks) {
    if (!keeps_) return false;
    const auto [part, added] = parts_.try_emplace(hash);
    if (added) part->second = {1, blocks, {}};
    return added;
}

void KvSpace::drop(std::uint64_t hash) {
    const auto found = parts_.find(hash);
    if (--found->second.holders > 0) return;
    found->second.place = order_.insert(order_.end(), hash);
    evictable_ += found->second.blocks;
}

}  // namespace headroom
