// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/replay.h"
#include "memory/replay_average.h"
#include "memory/replay_queue.h"
#include "memory/shared_paged.h"
#include "spec/random.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <type_traits>

namespace headroom::detail {

/// One replay through one allocator (the members it needs are listed in memory/allocator.h). Steps are
/// walked one by one, but a step looks only at sequences that end, begin or fill a block in it: those that
/// fill one are found by their length modulo the block.
template <class A>
class Replay {
  public:
    Replay(const RequestSource& source, const ReplayOptions& options, A allocator)
        : source_(source),
          options_(options),
          allocator_(std::move(allocator)),
          random_(options.block ^ 0x9e37),
          average_(options.costs) {
        result_.policy = options.policy;
        result_.block = is_paged(options.policy) ? allocator_.period() : 0;
        by_phase_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, allocator_.period())));
    }

    ReplayResult run() {
        for (;; ++step_) {
            complete();
            admit();
            if (sequences_ == 0) {
                if (waiting_.empty()) break;
                ++result_.refused;  // nothing runs, so nothing will make room
                waiting_.pop_front();
                blocked_ = false;
                continue;
            }
            move_beams();
            grow();
            write();
        }
        finish();
        return result_;
    }

  private:
    static constexpr bool kShares = std::is_same_v<A, SharedPagedAllocator>;
    static constexpr bool kWindows = std::is_same_v<A, GroupedAllocator>;

    std::int64_t tokens(const Running& r) const {
        return r.request.input_tokens + r.before + (step_ - r.start);
    }

    // Keeps one request ready at the front; false when there are no more.
    bool head() {
        while (waiting_.empty() && !ended_) {
            Waiting next;
            if (!source_(next.request)) {
                ended_ = true;
                break;
            }
            ++result_.requests;
            if (options_.progress && result_.requests % 65536 == 0) options_.progress(result_.requests);
            const std::int64_t room = options_.max_length - next.request.input_tokens;
            next.output = std::min(next.request.output_tokens, room);
            const Demand end = demand(next.request, next.output, next.output);
            if (room <= 0 || allocator_.never(end)) {
                ++result_.refused;
                continue;
            }
            result_.cut += next.output < next.request.output_tokens ? 1 : 0;
            waiting_.push_back(std::move(next));
        }
        return !waiting_.empty();
    }

    static Demand demand(const Request& r, std::int64_t output, std::int64_t made) {
        return {r.input_tokens + made, r.input_tokens + output, r.input_tokens, &r};
    }

    void admit() {
        if (blocked_ && !kWindows) return;  // nothing was released since the first in line was refused
        while (head()) {
            Waiting& next = waiting_.front();
            const auto n = static_cast<std::int64_t>(std::max(1, next.request.samples));
            blocked_ = (options_.max_sequences > 0 && sequences_ + n > options_.max_sequences) ||
                       !leaves_room_to_grow(next) || !start(next);
            if (blocked_) return;
            waiting_.pop_front();
        }
    }

    // Engines let what runs grow before they admit, so blocks that this step's growth takes are not given
    // away.
    bool leaves_room_to_grow(const Waiting& next) const {
        const std::int64_t period = allocator_.period();
        if (kWindows || period == 0) return true;
        const auto due =
            static_cast<std::int64_t>(by_phase_[static_cast<std::size_t>(step_ % period)].size());
        // With sharing, what a prompt will find is not known before it is placed.
        const std::int64_t held = kShares ? 0 : next.request.input_tokens + next.before;
        return allocator_.usage(0).free >= (due + (held + period - 1) / period) * period;
    }

    bool start(Waiting& next) {
        const std::int64_t found = found_tokens();
        const int index = free_running();
        Running& r = running_[static_cast<std::size_t>(index)];
        r.slots.clear();
        if (!place(next, r.slots)) {
            idle_.push_back(index);
            return false;
        }
        const std::int64_t held = next.request.input_tokens + next.before;
        std::swap(r.request, next.request);
        r.output = next.output;
        r.before = next.before;
        r.start = step_;
        r.serial = serial_++;
        r.older = newest_;
        r.newer = -1;
        if (newest_ >= 0) running_[static_cast<std::size_t>(newest_)].newer = index;
        newest_ = index;
        ends_.push({step_ + r.output - r.before, index, r.serial});
        sequences_ += static_cast<std::int64_t>(r.slots.size());
        live_ += static_cast<std::int64_t>(r.slots.size()) * held;
        for (const int slot : r.slots) watch(slot, index, held);
        prefill_ += static_cast<double>(held - (found_tokens() - found));
        if (r.slots.size() > 1 && r.request.beam) beams_.push_back({index, r.serial});
        return true;
    }

    // Memory for all sequences of a request, or for none. What they had made before a preemption is each
    // one's own, so copies are taken of the prompt and then grow.
    bool place(const Waiting& next, std::vector<int>& slots) {
        const bool apart = kShares && next.request.samples > 1 && next.before > 0;
        const Demand d = demand(next.request, next.output, apart ? 0 : next.before);
        const int n = std::max(1, next.request.samples);
        for (int i = 0; i < n; ++i) {
            const int slot = free_slot();
            if (!(i == 0 ? allocator_.admit(slot, d) : allocator_.fork(slots.front(), slot, d))) {
                slots_.push_back(slot);
                return take_back(slots, [&](std::size_t) { return d.tokens; });
            }
            slots.push_back(slot);
        }
        if (!apart) return true;
        for (std::size_t i = 0; i < slots.size(); ++i) {
            for (std::int64_t made = 0; made < next.before;) {
                const std::int64_t room = allocator_.room(slots[i]) - d.tokens - made;
                if (room == 0 && !allocator_.grow(slots[i])) {
                    return take_back(slots, [&](std::size_t j) {
                        return d.tokens + (j < i ? next.before : j == i ? made : 0);
                    });
                }
                const std::int64_t now = std::min(room, next.before - made);
                allocator_.advance(now);
                made += now;
            }
        }
        return true;
    }

    template <class Held>
    bool take_back(std::vector<int>& slots, const Held& held) {
        for (std::size_t i = 0; i < slots.size(); ++i) {
            allocator_.release(slots[i], held(i));
            slots_.push_back(slots[i]);
        }
        slots.clear();
        return false;
    }

    std::int64_t found_tokens() const {
        if constexpr (kShares) return allocator_.found_tokens();
        return 0;
    }

    // Puts a slot where it will be looked at when its room is used up.
    void watch(int slot, int index, std::int64_t held) {
        const auto at = static_cast<std::size_t>(slot);
        owner_[at] = index;
        if (allocator_.period() == 0) return;
        if constexpr (kShares) {
            if (allocator_.room(slot) == held)
                urgent_.push_back({slot, running_[static_cast<std::size_t>(index)].serial});
        }
        auto& list = by_phase_[static_cast<std::size_t>(phase_of(held))];
        phase_[at] = &list;
        place_[at] = list.size();
        list.push_back(slot);
    }

    // The step, modulo the period, at which a sequence that has `held` tokens now fills a block.
    std::int64_t phase_of(std::int64_t held) const {
        const std::int64_t period = allocator_.period();
        return (step_ + period - held % period) % period;
    }

    void unwatch(int slot) {
        const auto at = static_cast<std::size_t>(slot);
        if (phase_[at] == nullptr) return;
        auto& list = *phase_[at];
        const int last = list.back();
        list[place_[at]] = last;
        place_[static_cast<std::size_t>(last)] = place_[at];
        list.pop_back();
        phase_[at] = nullptr;
    }

    void stop(int index) {
        Running& r = running_[static_cast<std::size_t>(index)];
        const std::int64_t held = tokens(r);
        for (const int slot : r.slots) {
            unwatch(slot);
            allocator_.release(slot, held);
            slots_.push_back(slot);
        }
        sequences_ -= static_cast<std::int64_t>(r.slots.size());
        live_ -= static_cast<std::int64_t>(r.slots.size()) * held;
        (r.newer >= 0 ? running_[static_cast<std::size_t>(r.newer)].older : newest_) = r.older;
        if (r.older >= 0) running_[static_cast<std::size_t>(r.older)].newer = r.newer;
        r.serial = -1;
        idle_.push_back(index);
        blocked_ = false;
    }

    void complete() {
        while (!ends_.empty() && ends_.top().step <= step_) {
            const End end = ends_.top();
            ends_.pop();
            Running& r = running_[static_cast<std::size_t>(end.index)];
            if (r.serial != end.serial) continue;  // preempted since
            stop(end.index);
            ++result_.completed;
        }
    }

    void preempt_newest() {
        const int index = newest_;
        Running& r = running_[static_cast<std::size_t>(index)];
        const std::int64_t made = tokens(r) - r.request.input_tokens;
        stop(index);
        waiting_.push_front({std::move(r.request), r.output, made});
        ++result_.preemptions;
    }

    void grow() {
        const std::int64_t period = allocator_.period();
        if (period == 0) return;
        if constexpr (kShares) {
            for (std::size_t i = 0; i < urgent_.size(); ++i) grow_one(urgent_[i].slot, urgent_[i].serial);
            urgent_.clear();
        }
        const auto& list = by_phase_[static_cast<std::size_t>(step_ % period)];
        due_.clear();
        for (const int slot : list) due_.push_back({slot, running_of(slot).serial});
        for (const Due& due : due_) grow_one(due.slot, due.serial);
    }

    void grow_one(int slot, std::int64_t serial) {
        while (running_of(slot).serial == serial && tokens(running_of(slot)) >= allocator_.room(slot)) {
            if (!allocator_.grow(slot)) preempt_newest();
        }
    }

    Running& running_of(int slot) {
        return running_[static_cast<std::size_t>(owner_[static_cast<std::size_t>(slot)])];
    }

    // Now and then the worst beam of a request is replaced by a copy of a better one.
    void move_beams() {
        if constexpr (kShares) {
            for (std::size_t i = 0; i < beams_.size();) {
                Running& r = running_[static_cast<std::size_t>(beams_[i].index)];
                if (r.serial != beams_[i].serial) {
                    beams_[i] = beams_.back();
                    beams_.pop_back();
                    continue;
                }
                if (random_.uniform() < options_.beam_switch) fork_beam(r, beams_[i].index);
                ++i;
            }
        }
    }

    void fork_beam(Running& r, int index) {
        const auto n = static_cast<std::uint64_t>(r.slots.size());
        const std::uint64_t dies = random_.below(n);
        const std::uint64_t lives = (dies + 1 + random_.below(n - 1)) % n;
        const int child = r.slots[dies], parent = r.slots[lives];
        Demand d = demand(r.request, r.output, 0);
        d.tokens = tokens(r);
        unwatch(child);
        allocator_.release(child, d.tokens);
        allocator_.fork(parent, child, d);
        watch(child, index, d.tokens);
        urgent_.push_back({parent, r.serial});
    }

    void write() {
        if (sequences_ == 0) return;
        if constexpr (kWindows) {
            for (int index = newest_; index >= 0; index = running_[static_cast<std::size_t>(index)].older) {
                const Running& r = running_[static_cast<std::size_t>(index)];
                for (const int slot : r.slots) allocator_.wrote(slot, tokens(r) + 1);
            }
        }
        allocator_.advance(sequences_);
        live_ += sequences_;
        result_.output_tokens += sequences_;
        std::int64_t piece = 0;
        const bool waits = !waiting_.empty();
        if (waits) piece = allocator_.piece(demand(waiting_.front().request, waiting_.front().output, 0));
        average_.add({allocator_.usage(piece), sequences_, live_, prefill_, waits, result_.completed});
        prefill_ = 0;
    }

    void finish() {
        average_.fill(result_);
        result_.steps = step_;
        if constexpr (kShares) {
            if (allocator_.prompt_tokens() > 0) {
                result_.prefix_found = static_cast<double>(allocator_.found_tokens()) /
                                       static_cast<double>(allocator_.prompt_tokens());
            }
        }
    }

    int free_slot() {
        if (slots_.empty()) {
            slots_.push_back(static_cast<int>(owner_.size()));
            owner_.push_back(-1);
            phase_.push_back(nullptr);
            place_.push_back(0);
        }
        const int slot = slots_.back();
        slots_.pop_back();
        return slot;
    }
    int free_running() {
        if (idle_.empty()) {
            idle_.push_back(static_cast<int>(running_.size()));
            running_.emplace_back();
        }
        const int index = idle_.back();
        idle_.pop_back();
        return index;
    }

    struct End {
        std::int64_t step;
        int index;
        std::int64_t serial;
        bool operator<(const End& o) const { return step != o.step ? step > o.step : serial > o.serial; }
    };
    struct Due {
        int slot;
        std::int64_t serial;
    };
    struct Beams {
        int index;
        std::int64_t serial;
    };

    const RequestSource& source_;
    const ReplayOptions& options_;
    A allocator_;
    Random random_;
    ReplayAverage average_;
    ReplayResult result_;
    std::deque<Waiting> waiting_;
    std::vector<Running> running_;
    std::vector<int> idle_;   // of running_
    std::vector<int> slots_;  // numbers that no sequence has
    std::vector<int> owner_;  // of a slot, in running_
    std::deque<std::vector<int>> by_phase_;
    std::vector<std::vector<int>*> phase_;
    std::vector<std::size_t> place_;
    std::vector<Due> due_, urgent_;
    std::vector<Beams> beams_;
    std::priority_queue<End> ends_;
    std::int64_t step_ = 0, serial_ = 0, sequences_ = 0, live_ = 0;
    double prefill_ = 0;
    int newest_ = -1;
    bool ended_ = false;
    bool blocked_ = false;
};

}  // namespace headroom::detail
