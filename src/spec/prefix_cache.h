// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/workload_summary.h"

#include <list>
#include <unordered_map>
#include <vector>

namespace headroom {

/// A cache of prompt blocks looked up by prefix hash, to count what it would have found. Of the blocks of one
/// prompt the last is the oldest, so that a prefix never loses its head before its tail, as in engines that
/// free a sequence's blocks from the end.
class PrefixCacheCount {
  public:
    /// `capacity` blocks, least recently used leave; 0: no limit.
    explicit PrefixCacheCount(std::int64_t capacity) : capacity_(capacity) {}

    /// Looks the prompt up (an unbroken run from its start) and then stores all of it.
    void add(const Request& request);
    PrefixHits hits() const;
    std::int64_t blocks() const { return blocks_; }
    std::int64_t held() const { return static_cast<std::int64_t>(places_.size()); }

  private:
    void store(std::uint64_t hash);

    std::int64_t capacity_;
    std::list<std::uint64_t> order_;  // most recently used first; unused without a limit
    std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
    std::int64_t requests_ = 0, blocks_ = 0, hit_blocks_ = 0;
    double tokens_ = 0, hit_tokens_ = 0, request_shares_ = 0;
};

}  // namespace headroom
