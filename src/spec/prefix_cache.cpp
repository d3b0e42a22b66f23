// SPDX-License-Identifier: Apache-2.0
#include "spec/prefix_cache.h"

#include <algorithm>

namespace headroom {

void PrefixCacheCount::add(const Request& request) {
    const auto& prefix = request.prefix;
    const auto input = static_cast<double>(request.input_tokens);
    std::size_t found = 0;
    while (found < prefix.size() && places_.count(prefix[found]) > 0) ++found;
    for (auto hash = prefix.rbegin(); hash != prefix.rend(); ++hash) store(*hash);

    // The last block may be a part only, so tokens are not blocks x block.
    const double hit = std::min(input, static_cast<double>(found) * request.prefix_block);
    ++requests_;
    blocks_ += static_cast<std::int64_t>(prefix.size());
    hit_blocks_ += static_cast<std::int64_t>(found);
    tokens_ += input;
    hit_tokens_ += hit;
    if (input > 0) request_shares_ += hit / input;
}

void PrefixCacheCount::store(std::uint64_t hash) {
    const auto [place, fresh] = places_.try_emplace(hash);
    if (capacity_ == 0) return;
    if (!fresh) {
        order_.splice(order_.begin(), order_, place->second);
        return;
    }
    order_.push_front(hash);
    place->second = order_.begin();
    if (static_cast<std::int64_t>(order_.size()) > capacity_) {
        places_.erase(order_.back());
        order_.pop_back();
    }
}

PrefixHits PrefixCacheCount::hits() const {
    PrefixHits hits;
    hits.capacity_blocks = capacity_;
    if (blocks_ > 0) hits.block_rate = static_cast<double>(hit_blocks_) / static_cast<double>(blocks_);
    if (tokens_ > 0) hits.token_rate = hit_tokens_ / tokens_;
    if (requests_ > 0) hits.request_rate = request_shares_ / static_cast<double>(requests_);
    return hits;
}

}  // namespace headroom
