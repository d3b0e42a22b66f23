// SPDX-License-Identifier: Apache-2.0
#include "serving/batcher.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace headroom {

Replica::Replica(int number, PoolRole role, const Shard& shard, const Hardware& hardware,
                 const Engine& engine, const ServingPolicy& policy, StepCosts& costs,
                 const ServingEvents& events)
    : number_(number),
      role_(role),
      engine_(engine),
      policy_(policy),
      costs_(costs),
      events_(events),
      cache_(kv_blocks(shard, hardware, engine)),
      pool_(cache_.total),
      max_sequences_(policy.max_sequences > 0
                         ? policy.max_sequences
                         : static_cast<std::int64_t>(engine.scheduler.max_sequences.value)),
      max_batched_(static_cast<std::int64_t>(engine.scheduler.max_batched_tokens.value) *
                   shard.deployment.dp) {
    if (hardware.pcie) swap_per_block_ = cache_.block_bytes / hardware.pcie->per_direction.value / second;
    lanes_.resize(static_cast<std::size_t>(shard.deployment.pp));
    stage_free_.assign(lanes_.size(), 0);
    for (Lane& lane : lanes_) lane.phases.resize(static_cast<std::size_t>(cache_.block_tokens));
}

bool Replica::fits(const Live& request) const {
    const std::int64_t most = request.input + request.output;
    if (policy_.max_tokens > 0 && most > policy_.max_tokens) return false;
    return request.width <= max_sequences_ && sequence_blocks(request, most) <= pool_.total();
}

bool Replica::enqueue(Live&& request) {
    if (!fits(request)) return false;
    if (free_slots_.empty()) {
        free_slots_.push_back(static_cast<Slot>(slots_.size()));
        slots_.emplace_back();
    }
    const Slot slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = std::move(request);
    waiting_.push_back(slot);
    for (Lane& lane : lanes_) lane.blocked = false;
    return true;
}

double Replica::next_event() const {
    double next = std::numeric_limits<double>::infinity();
    for (const Lane& lane : lanes_) {
        if (lane.flying) {
            next = std::min(next, lane.end);
        } else if (!lane.blocked && lane.sequences > 0) {
            next = std::min(next, std::max(now_, stage_free_.front()));
        } else if (!lane.blocked && !waiting_.empty()) {
            next = std::min(next, std::max({now_, stage_free_.front(), slots_[waiting_.front()].ready}));
        }
    }
    return next;
}

void Replica::advance() {
    const double next = next_event();
    pass_time(next);
    // What ends makes room for what begins at the same time.
    for (Lane& lane : lanes_) {
        if (lane.flying && lane.end <= next) return end_step(lane);
    }
    // The lane that has waited longest goes first, or the others would pass it for ever.
    std::size_t first = lanes_.size();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        const Lane& lane = lanes_[i];
        const bool work = lane.sequences > 0 || (!waiting_.empty() && slots_[waiting_.front()].ready <= next);
        if (lane.flying || lane.blocked || !work || stage_free_.front() > next) continue;
        if (first == lanes_.size() || lane.end < lanes_[first].end) first = i;
    }
    if (first < lanes_.size()) lanes_[first].blocked = !begin_step(first, next);
}

void Replica::pass_time(double now) {
    const double passed = now - now_;
    const bool flying =
        std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.flying; });
    if (flying) counters_.busy += passed;
    if (left_behind_) counters_.backlog += passed;
    counters_.sequence_seconds += passed * static_cast<double>(running_);
    counters_.block_seconds += passed * static_cast<double>(pool_.used());
    now_ = now;
}

bool Replica::prompts_alone() const {
    return policy_.batching == Batching::fixed || !engine_.scheduler.chunked_prefill;
}

bool Replica::begin_step(std::size_t number, double now) {
    Lane& lane = lanes_[number];
    preempted_ = left_behind_ = false;
    choose(lane, now);
    if (shape_.chunks.empty() && shape_.decodes == 0 && preempted_) {
        preempted_ = false;
        choose(lane, now);
    }
    // Prompts that hold blocks while none can go on: the latest gives way.
    const bool others = std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& l) { return l.flying; });
    while (shape_.chunks.empty() && shape_.decodes == 0 && lane.prompts.size() > (others ? 0u : 1u)) {
        preempt_latest(lane);
        continue_prompts(lane);
    }
    if (!left_behind_) counters_.last_without_queue = now;
    if (shape_.chunks.empty() && shape_.decodes == 0) return false;
    fly(number, now);
    return true;
}

// Decoding sequences first, then prompts under way, then new ones, within the token budget.
void Replica::choose(Lane& lane, double now) {
    shape_.chunks.clear();
    lane.flying_chunks.clear();
    budget_ = max_batched_;
    const bool forming = lane.sequences == 0;
    if (!prompts_alone()) {
        grow(lane);
        budget_ -= lane.decodes;
    }
    if (policy_.batching == Batching::continuous) {
        continue_prompts(lane);
        while (try_admit(lane, now)) {
        }
    } else {
        while (forming && try_admit(lane, now)) {
        }
        if (!waiting_.empty() && slots_[waiting_.front()].ready <= now) left_behind_ = true;
        continue_prompts(lane);
    }
    if (prompts_alone() && shape_.chunks.empty()) grow(lane);
    lane.decoding = lane.decodes > 0 && (!prompts_alone() || shape_.chunks.empty());
    shape_.decodes = lane.decoding ? lane.decodes : 0;
    shape_.decode_context = lane.decoding ? lane.cached + lane.decodes : 0;
}

void Replica::fly(std::size_t number, double now) {
    Lane& lane = lanes_[number];
    const StepCost cost = costs_(shape_);
    lane.begin = now;
    // A stage takes one batch at a time, in order; the last, which has the head, is the slowest.
    const auto before = static_cast<double>(stage_free_.size() - 1);
    double time = now + lane.swap;
    for (std::size_t s = 0; s < stage_free_.size(); ++s) {
        const bool last = s + 1 == stage_free_.size();
        const double slowest = before > 0 ? cost.slowest : cost.latency;
        time = std::max(time, stage_free_[s]) + (last ? slowest : (cost.latency - slowest) / before);
        stage_free_[s] = time;
    }
    lane.end = time;
    lane.swap = 0;
    lane.flying = true;
    ++counters_.steps;
    if (!events_.step) return;
    StepRecord r{.replica = number_, .lane = static_cast<int>(number), .begin = now, .end = lane.end};
    r.decodes = shape_.decodes;
    r.decode_context = shape_.decode_context;
    r.chunks = static_cast<std::int64_t>(shape_.chunks.size());
    for (const PromptChunk& c : shape_.chunks) r.prompt_tokens += c.fresh;
    r.running = running_;
    r.waiting = waiting();
    r.blocks_used = pool_.used();
    r.blocks = pool_.total();
    events_.step(r);
}

void Replica::grow(Lane& lane) {
    if (policy_.batching == Batching::fixed) return;  // has all it needs
    auto& due = lane.phases[static_cast<std::size_t>(lane.steps % cache_.block_tokens)];
    for (std::size_t i = 0; i < due.size();) {
        Live& live = slots_[due[i]];
        if (take_for(live, held_tokens(lane, live) + 1)) {
            ++i;
            continue;
        }
        preempt_latest(lane);
        i = 0;  // the list has changed; whoever has its block asks for nothing
    }
}

void Replica::add_chunk(Lane& lane, Slot slot) {
    const Live& live = slots_[slot];
    const std::int64_t left = live.target - live.computed;
    const bool cut = engine_.scheduler.chunked_prefill || policy_.batching == Batching::fixed;
    const std::int64_t fresh = cut ? std::min(left, budget_) : left;
    const PromptChunk chunk{.fresh = fresh, .past = live.computed, .last = fresh == left};
    shape_.chunks.push_back(chunk);
    lane.flying_chunks.emplace_back(slot, chunk);
    budget_ -= fresh;
}

void Replica::continue_prompts(Lane& lane) {
    for (const Slot slot : lane.prompts) {
        Live& live = slots_[slot];
        if (budget_ <= 0 || !take_for(live, live.computed + std::min(live.target - live.computed, budget_)))
            return;
        add_chunk(lane, slot);
    }
}

bool Replica::try_admit(Lane& lane, double now) {
    if (waiting_.empty() || preempted_) return false;
    const Slot slot = waiting_.front();
    Live& live = slots_[slot];
    if (live.ready > now) return false;
    left_behind_ = true;  // unless it is taken
    if (budget_ <= 0 || !room_for(lane, live)) return false;
    const bool whole = !engine_.scheduler.chunked_prefill && policy_.batching == Batching::continuous;
    if (live.has_cache) {
        if (!take_for(live, live.target + 1)) return false;
        if (live.preemptions > 0) lane.swap += swap_per_block_ * static_cast<double>(live.blocks);
    } else {
        find_prefix(live);
        const std::int64_t left = live.target - live.computed;
        const bool fits = !whole || left <= budget_ || shape_.chunks.empty();
        std::int64_t tokens = whole ? live.target : live.computed + std::min(left, budget_);
        if (policy_.batching == Batching::fixed) tokens = live.input + live.output;
        if (!fits || !take_for(live, tokens)) {
            release(live);
            return false;
        }
        if (live.generated == 0 && live.preemptions == 0) {
            live.started = now;
            counters_.prompt_tokens += live.input;
            counters_.cached_tokens += live.cached = live.computed;
        }
    }
    left_behind_ = false;
    waiting_.pop_front();
    live.admission = ++admissions_;
    lane.sequences += live.width;
    running_ += live.width;
    if (live.has_cache) {
        live.has_cache = false;
        budget_ -= live.width;
        join(lane, slot);
        return true;
    }
    lane.prompts.push_back(slot);
    if (policy_.batching == Batching::continuous) add_chunk(lane, slot);
    return true;
}

void Replica::preempt_latest(Lane& lane) {
    const bool prompt = !lane.prompts.empty();
    const Slot slot = prompt ? lane.prompts.back() : lane.order.rbegin()->second;
    Live& live = slots_[slot];
    if (prompt) {
        lane.prompts.pop_back();
    } else {
        leave(lane, slot);
        live.has_cache = policy_.preemption == Preemption::swap && swap_per_block_ > 0;
        if (live.has_cache)
            lane.swap += swap_per_block_ * static_cast<double>(live.blocks);
        else
            ++live.target;  // the token that was generated last is not in the cache yet
    }
    release(live);
    lane.sequences -= live.width;
    running_ -= live.width;
    ++live.preemptions;
    ++counters_.preemptions;
    preempted_ = true;
    waiting_.push_front(slot);
}

void Replica::end_step(Lane& lane) {
    lane.flying = false;
    for (Lane& other : lanes_) other.blocked = false;
    if (lane.decoding) {
        emit_gaps(lane);
        ++lane.steps;
        lane.cached += lane.decodes;
        while (!lane.ends.empty() && lane.ends.top().step <= lane.steps) {
            const End end = lane.ends.top();
            lane.ends.pop();
            const auto found = lane.order.find(end.admission);  // gone when it was preempted meanwhile
            if (found != lane.order.end()) finish(lane, end.slot);
        }
    }
    for (const auto& [slot, chunk] : lane.flying_chunks) {
        slots_[slot].computed += chunk.fresh;
        if (chunk.last) prompt_ended(lane, slot);
    }
    lane.flying_chunks.clear();
    if (policy_.batching == Batching::fixed && lane.sequences == lane.ended_width) end_fixed_batch(lane);
}

void Replica::emit_gaps(Lane& lane) {
    const std::int64_t tokens = lane.decodes - lane.ended_width;
    std::int64_t old = tokens;
    for (const auto& [time, width] : lane.joined) {
        old -= width;
        if (width > 0) events_.token_gap(lane.end - time, width);
    }
    if (old > 0) events_.token_gap(lane.end - lane.last_decode, old);
    lane.joined.clear();
    lane.last_decode = lane.end;
    counters_.tokens_out += tokens;
    if (left_behind_) counters_.backlog_tokens += tokens;
}

void Replica::prompt_ended(Lane& lane, Slot slot) {
    Live& live = slots_[slot];
    lane.prompts.erase(std::find(lane.prompts.begin(), lane.prompts.end(), slot));
    share_prompt(live);
    if (++live.generated == 1)
        live.first_token = lane.end;
    else
        events_.token_gap(lane.end - live.last_token, live.width);
    live.last_token = lane.end;
    counters_.tokens_out += live.width;
    if (left_behind_) counters_.backlog_tokens += live.width;
    if (live.generated >= live.output || role_ == PoolRole::prefill) {
        finish(lane, slot);
    } else {
        join(lane, slot);
    }
}

// The sequence decodes from the next step on, with `target` tokens in its cache.
void Replica::join(Lane& lane, Slot slot) {
    Live& live = slots_[slot];
    live.join_step = lane.steps;
    live.finish_step = lane.steps + live.output - live.generated;
    lane.decodes += live.width;
    lane.cached += live.width * live.target;
    lane.order.emplace(live.admission, slot);
    lane.ends.push({live.finish_step, live.admission, slot});
    lane.joined.emplace_back(live.last_token, live.width);
    const std::int64_t block = cache_.block_tokens;
    auto& due = lane.phases[static_cast<std::size_t>(((lane.steps - live.target) % block + block) % block)];
    live.phase_index = due.size();
    due.push_back(slot);
}

void Replica::leave(Lane& lane, Slot slot) {
    Live& live = slots_[slot];
    const std::int64_t block = cache_.block_tokens;
    auto& due =
        lane.phases[static_cast<std::size_t>(((live.join_step - live.target) % block + block) % block)];
    slots_[due.back()].phase_index = live.phase_index;
    due[live.phase_index] = due.back();
    due.pop_back();
    lane.order.erase(live.admission);
    const std::int64_t steps = lane.steps - live.join_step;
    if (steps == 0) {
        const auto entry = std::find_if(lane.joined.begin(), lane.joined.end(), [&](const auto& j) {
            return j.first == live.last_token && j.second == live.width;
        });
        if (entry != lane.joined.end()) entry->second -= live.width;
    } else {
        live.last_token = lane.last_decode;
    }
    live.generated += steps;
    live.target += steps;
    lane.decodes -= live.width;
    lane.cached -= live.width * live.target;
}

void Replica::finish(Lane& lane, Slot slot) {
    Live& live = slots_[slot];
    const bool decoded = lane.order.count(live.admission) > 0;
    if (decoded) leave(lane, slot);
    if (policy_.batching == Batching::fixed && role_ != PoolRole::prefill) {
        // Its row is computed on as padding, beside the memory that it keeps.
        if (decoded) {
            lane.decodes += live.width;
            lane.cached += live.width * live.target;
            lane.ended_width += live.width;
        } else {
            lane.sequences -= live.width;
            running_ -= live.width;
        }
        lane.ended.push_back(slot);
        Live copy = live;
        return events_.finished(std::move(copy), lane.end);
    }
    lane.sequences -= live.width;
    running_ -= live.width;
    release(live);
    Live done = take_out(slot);
    const bool handed_on = role_ == PoolRole::prefill && done.generated < done.output;
    (handed_on ? events_.prompt_done : events_.finished)(std::move(done), lane.end);
}

}  // namespace headroom
