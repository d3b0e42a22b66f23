// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/ledger.h"

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace headroom {

/// The KV cache of one replica in blocks, all data-parallel ranks together, and the prompt blocks that a
/// prefix cache keeps in it for as long as nobody needs the room.
class KvSpace {
  public:
    KvSpace(const Shard& shard, const Hardware& hardware, const Engine& engine, bool keep_prefixes);

    std::int64_t total() const { return total_; }
    std::int64_t used() const { return total_ - free_ - evictable_; }
    std::int64_t block_tokens() const { return block_tokens_; }
    Bytes block_bytes() const { return block_bytes_; }  ///< on one GPU
    /// Blocks of one sequence of `tokens`; windows and states are counted in blocks too.
    std::int64_t blocks(std::int64_t tokens) const;

    /// Takes blocks, evicting the least recently used unreferenced prompts; false, and nothing taken, when
    /// there are not enough.
    bool take(std::int64_t blocks);
    void give(std::int64_t blocks) { free_ += blocks; }

    /// Finds prompt parts that are cached, from the start of `prefix` without a gap, at most `most`; the
    /// caller holds them until it drops each.
    std::int64_t hold(const std::vector<std::uint64_t>& prefix, std::int64_t most);
    /// Makes a part of `blocks`, which the caller took, one that others can hold; the caller is its first
    /// holder. False when the cache has it already or keeps none: the blocks stay the caller's own.
    bool keep(std::uint64_t part, std::int64_t blocks);
    /// Gives up a part; nobody's parts stay until they are evicted.
    void drop(std::uint64_t part);

    std::int64_t parts() const { return static_cast<std::int64_t>(parts_.size()); }

  private:
    struct Part {
        std::int64_t holders = 0;
        std::int64_t blocks = 0;
        std::list<std::uint64_t>::iterator place;  // in order_, when nobody holds it
    };

    ModelKv kv_;
    const Engine& engine_;
    bool uniform_ = false;  // every block holds block_tokens_ tokens of all layers
    Bytes block_bytes_;
    std::int64_t block_tokens_ = 1, total_ = 0, free_ = 0, evictable_ = 0;
    bool keeps_ = false;
    std::unordered_map<std::uint64_t, Part> parts_;
    std::list<std::uint64_t> order_;  // least recently used first
};

}  // namespace headroom
