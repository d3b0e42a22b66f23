// SPDX-License-Identifier: Apache-2.0
#include "serving/batcher.h"

#include <algorithm>

namespace headroom {

std::int64_t Replica::held_tokens(const Lane& lane, const Live& live) const {
    return live.target + lane.steps - live.join_step;
}

std::int64_t Replica::sequence_blocks(const Live& live, std::int64_t tokens) const {
    if (policy_.allocation == Allocation::reserve)
        return live.width * blocks_of(cache_, engine_, policy_.max_tokens);
    const std::int64_t one = blocks_of(cache_, engine_, tokens);
    if (live.width == 1 || tokens <= live.input) return one;
    const std::int64_t shared = live.input / cache_.block_tokens * cache_.kept;  // whole blocks of the prompt
    return shared + live.width * std::max<std::int64_t>(0, one - shared);
}

std::int64_t Replica::part_blocks(const Live& live) const {
    return live.prefix_block % cache_.block_tokens == 0
               ? live.prefix_block / cache_.block_tokens * cache_.kept
               : 0;
}

bool Replica::shares(const Live& live) const {
    return policy_.keep_prefixes && !live.prefix.empty() && part_blocks(live) > 0 &&
           policy_.allocation == Allocation::paged;
}

bool Replica::take_for(Live& live, std::int64_t tokens) {
    const std::int64_t need = sequence_blocks(live, tokens) - live.shared_blocks - live.blocks;
    if (need <= 0) return true;
    if (!pool_.take(need)) return false;
    live.blocks += need;
    return true;
}

// The last token of a prompt is always computed: its logits are needed.
void Replica::find_prefix(Live& live) {
    live.computed = 0;
    if (!shares(live)) return;
    const auto most =
        std::min(live.prefix.size(), static_cast<std::size_t>((live.input - 1) / live.prefix_block));
    while (live.shared.size() < most) {
        const BlockPool::Part part = pool_.find(live.prefix[live.shared.size()]);
        if (part == BlockPool::kNone) break;
        pool_.hold(part);
        live.shared.push_back(part);
    }
    const auto found = static_cast<std::int64_t>(live.shared.size());
    live.shared_blocks = found * part_blocks(live);
    live.computed = found * live.prefix_block;
}

// What another computed at the same time stays this sequence's own.
void Replica::share_prompt(Live& live) {
    if (!shares(live)) return;
    const auto whole = std::min(live.prefix.size(), static_cast<std::size_t>(live.input / live.prefix_block));
    const std::int64_t blocks = part_blocks(live);
    while (live.shared.size() < whole) {
        const std::uint64_t content = live.prefix[live.shared.size()];
        live.shared.push_back(BlockPool::kNone);
        if (pool_.find(content) != BlockPool::kNone) continue;
        live.shared.back() = pool_.make(blocks);
        pool_.name(live.shared.back(), content);
        live.blocks -= blocks;
        live.shared_blocks += blocks;
    }
}

// From the end, so that a prompt's head outlives its tail.
void Replica::release(Live& live) {
    for (std::size_t i = live.shared.size(); i-- > 0;) {
        if (live.shared[i] != BlockPool::kNone) pool_.drop(live.shared[i]);
    }
    live.shared.clear();
    pool_.give(live.blocks);
    live.blocks = live.shared_blocks = 0;
    live.computed = 0;
}

bool Replica::room_for(const Lane& lane, const Live& live) const {
    // Stages are kept equally busy: no lane takes more than its share.
    const auto stages = static_cast<std::int64_t>(lanes_.size());
    const std::int64_t share = (running_ + waiting() + stages - 1) / stages;
    return running_ + live.width <= max_sequences_ && (lane.sequences < share || lane.sequences == 0);
}

void Replica::end_fixed_batch(Lane& lane) {
    for (const Slot slot : lane.ended) {
        release(slots_[slot]);
        take_out(slot);
    }
    lane.ended.clear();
    running_ -= lane.ended_width;
    lane.sequences = lane.decodes = lane.cached = lane.ended_width = 0;
}

Live Replica::take_out(Slot slot) {
    free_slots_.push_back(slot);
    return std::move(slots_[slot]);
}

}  // namespace headroom
