// SPDX-License-Identifier: Apache-2.0
#include "serving/batcher.h"

#include <algorithm>

namespace headroom {

std::int64_t Replica::held_tokens(const Lane& lane, const Live& live) const {
    return live.target + lane.steps - live.join_step;
}

std::int64_t Replica::blocks_of(const Live& live, std::int64_t tokens) const {
    if (policy_.allocation == Allocation::reserve) return live.width * kv_.blocks(policy_.max_tokens);
    if (live.width == 1 || tokens <= live.input) return kv_.blocks(tokens);
    const std::int64_t shared = live.input / kv_.block_tokens();  // whole blocks of the prompt
    return shared + live.width * std::max<std::int64_t>(0, kv_.blocks(tokens) - shared);
}

std::int64_t Replica::part_blocks(const Live& live) const {
    return live.prefix_block > 0 && live.prefix_block % kv_.block_tokens() == 0
               ? live.prefix_block / kv_.block_tokens()
               : 0;
}

bool Replica::take_for(Live& live, std::int64_t tokens) {
    const auto shared = std::count(live.shared.begin(), live.shared.end(), true) * part_blocks(live);
    const std::int64_t need = blocks_of(live, tokens) - shared - live.blocks;
    if (need <= 0) return true;
    if (!kv_.take(need)) return false;
    live.blocks += need;
    return true;
}

// The last token of a prompt is always computed: its logits are needed.
void Replica::find_prefix(Live& live) {
    live.computed = 0;
    if (live.prefix.empty() || part_blocks(live) == 0 || policy_.allocation == Allocation::reserve) return;
    const auto known = static_cast<std::int64_t>(live.prefix.size());
    const std::int64_t found = kv_.hold(live.prefix, std::min(known, (live.input - 1) / live.prefix_block));
    live.shared.assign(static_cast<std::size_t>(found), true);
    live.computed = found * live.prefix_block;
}

void Replica::share_prompt(Live& live) {
    if (live.prefix.empty() || part_blocks(live) == 0 || policy_.allocation == Allocation::reserve) return;
    const std::size_t whole =
        std::min(live.prefix.size(), static_cast<std::size_t>(live.input / live.prefix_block));
    for (std::size_t i = live.shared.size(); i < whole; ++i) {
        const bool kept = kv_.keep(live.prefix[i], part_blocks(live));
        live.shared.push_back(kept);
        if (kept) live.blocks -= part_blocks(live);
    }
}

// From the end, so that a prompt's head outlives its tail.
void Replica::release(Live& live) {
    for (std::size_t i = live.shared.size(); i-- > 0;) {
        if (live.shared[i]) kv_.drop(live.prefix[i]);
    }
    live.shared.clear();
    kv_.give(live.blocks);
    live.blocks = 0;
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
