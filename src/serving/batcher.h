// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/block_pool.h"
#include "memory/kv_blocks.h"
#include "serving/role.h"
#include "serving/statistics.h"
#include "serving/step_cost.h"
#include "spec/request.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <vector>

namespace headroom {

/// `continuous`: sequences join and leave between steps. `fixed`: a batch is formed when the one before has
/// ended; a finished sequence keeps its slot and its memory until then.
enum class Batching { continuous, fixed };
/// `paged`: blocks as tokens come. `reserve`: the longest sequence allowed, at once.
enum class Allocation { paged, reserve };
/// What happens to the latest sequence when a running one finds no block.
enum class Preemption { recompute, swap };

struct ServingPolicy {
    Batching batching = Batching::continuous;
    Allocation allocation = Allocation::paged;
    Preemption preemption = Preemption::recompute;
    std::int64_t max_tokens =
        0;  ///< of one sequence: what `reserve` sets aside; longer ones are refused; 0: no limit
    std::int64_t max_sequences = 0;  ///< 0: the engine's
    bool keep_prefixes = true;
};

/// A request in the system.
struct Live {
    std::int64_t id = 0;
    double arrival = 0;  ///< seconds
    double ready = 0;    ///< when the batcher may take it: host time per request, transfers
    std::int64_t input = 0, output = 0;
    std::int64_t width = 1;  ///< samples or beams: they share the prompt
    std::vector<std::uint64_t> prefix;
    std::int64_t prefix_block = 0;

    std::int64_t target = 0;    ///< tokens to have in the cache before the next one is generated
    std::int64_t computed = 0;  ///< of them; kept up to date until the sequence decodes
    std::int64_t generated = 0;
    std::int64_t cached = 0;  ///< prompt tokens found in the prefix cache
    std::int64_t preemptions = 0;
    double started = 0;  ///< first admission
    double first_token = 0, last_token = 0;
    bool has_cache = false;  ///< its cache arrives with it: moved here, or swapped out before

    // Where it is placed.
    std::int64_t blocks = 0;              ///< taken, shared parts not counted
    std::vector<BlockPool::Part> shared;  ///< by prompt part: its blocks in the prefix cache, or `kNone`
    std::int64_t shared_blocks = 0;
    std::int64_t admission = -1;  ///< rank of its admission; the latest is preempted first
    std::int64_t join_step = 0, finish_step = 0;
    std::size_t phase_index = 0;
};

/// One step as it ran.
struct StepRecord {
    int replica = 0, lane = 0;
    double begin = 0, end = 0;
    std::int64_t decodes = 0, decode_context = 0, prompt_tokens = 0, chunks = 0;
    std::int64_t running = 0, waiting = 0, blocks_used = 0, blocks = 0;
};

/// Where a replica tells what happens.
struct ServingEvents {
    std::function<void(const StepRecord&)> step;          ///< may be empty
    std::function<void(Live&&, double)> finished;         ///< last token, at that time
    std::function<void(Live&&, double)> prompt_done;      ///< PoolRole::prefill: the first token is there
    std::function<void(double, std::int64_t)> token_gap;  ///< seconds between tokens, of so many sequences
};

struct ReplicaCounters {
    std::int64_t steps = 0, preemptions = 0, tokens_out = 0, prompt_tokens = 0, cached_tokens = 0;
    double busy = 0;                  ///< seconds with a step under way
    double sequence_seconds = 0;      ///< running sequences x time
    double block_seconds = 0;         ///< used blocks x time
    double backlog = 0;               ///< seconds in which a ready request was left waiting
    std::int64_t backlog_tokens = 0;  ///< generated in them
    double last_without_queue = 0;    ///< when no ready request was left waiting for the last time
};

/// One replica of a model under an engine: a queue, the batches of its pipeline stages ("lanes": as many are
/// under way as there are stages) and its KV cache. Time per step grows with events (admissions, ends, new
/// blocks), not with the sequences in the batch.
class Replica {
  public:
    Replica(int number, PoolRole role, const Shard& shard, const Hardware& hardware, const Engine& engine,
            const ServingPolicy& policy, StepCosts& costs, const ServingEvents& events);

    /// Whether the request could run if it were alone.
    bool fits(const Live& request) const;
    /// False when it could not; it is not taken then.
    bool enqueue(Live&& request);
    /// The time of the next thing to happen, infinite when there is none.
    double next_event() const;
    /// Does what happens at `next_event()`.
    void advance();

    std::int64_t outstanding() const { return static_cast<std::int64_t>(waiting_.size()) + running_; }
    std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
    const ReplicaCounters& counters() const { return counters_; }
    const KvBlocks& cache() const { return cache_; }
    const BlockPool& blocks() const { return pool_; }

  private:
    using Slot = std::uint32_t;
    struct End {
        std::int64_t step, admission;
        Slot slot;
        bool operator>(const End& other) const {
            return step != other.step ? step > other.step : admission > other.admission;
        }
    };
    struct Lane {
        bool flying = false, decoding = false;
        double begin = 0, end = 0, last_decode = 0;
        std::int64_t steps = 0;                 // decode steps so far
        std::int64_t decodes = 0;               // sequences that decode, by width
        std::int64_t cached = 0;                // tokens in their caches
        std::int64_t sequences = 0;             // running here, prompts included, by width
        std::vector<std::vector<Slot>> phases;  // decoding sequences by when they need a block
        std::deque<Slot> prompts;               // admitted, prompt not yet done
        std::map<std::int64_t, Slot> order;     // decoding sequences by admission
        std::priority_queue<End, std::vector<End>, std::greater<>> ends;
        std::vector<std::pair<double, std::int64_t>> joined;  // since the last decode step: when, by width
        std::vector<std::pair<Slot, PromptChunk>> flying_chunks;
        std::vector<Slot> ended;  // fixed batching: done, but in the batch until it ends
        std::int64_t ended_width = 0;
        double swap = 0;       // seconds of swapping that its next step waits for
        bool blocked = false;  // no step could be made of what it has; something must end first
    };

    bool begin_step(std::size_t lane, double now);
    void end_step(Lane& lane);
    void choose(Lane& lane, double now);
    void fly(std::size_t number, double now);
    void grow(Lane& lane);
    void continue_prompts(Lane& lane);
    bool try_admit(Lane& lane, double now);
    bool room_for(const Lane& lane, const Live& live) const;
    bool take_for(Live& live, std::int64_t tokens);
    void add_chunk(Lane& lane, Slot slot);
    bool shares(const Live& live) const;
    void find_prefix(Live& live);
    void share_prompt(Live& live);
    void preempt_latest(Lane& lane);
    void release(Live& live);
    void join(Lane& lane, Slot slot);
    void leave(Lane& lane, Slot slot);
    void emit_gaps(Lane& lane);
    void prompt_ended(Lane& lane, Slot slot);
    void finish(Lane& lane, Slot slot);
    void end_fixed_batch(Lane& lane);
    Live take_out(Slot slot);
    void pass_time(double now);
    std::int64_t part_blocks(const Live& live) const;
    std::int64_t sequence_blocks(const Live& live, std::int64_t tokens) const;
    std::int64_t held_tokens(const Lane& lane, const Live& live) const;
    bool prompts_alone() const;

    int number_;
    PoolRole role_;
    const Engine& engine_;
    ServingPolicy policy_;
    StepCosts& costs_;
    const ServingEvents& events_;
    KvBlocks cache_;
    BlockPool pool_;
    std::int64_t max_sequences_, max_batched_;
    double swap_per_block_ = 0;  // seconds
    std::vector<Live> slots_;
    std::vector<Slot> free_slots_;
    std::deque<Slot> waiting_;
    std::vector<Lane> lanes_;
    std::vector<double> stage_free_;
    double now_ = 0;
    std::int64_t running_ = 0, admissions_ = 0;
    bool preempted_ = false, left_behind_ = false;
    std::int64_t budget_ = 0;  // tokens left in the step that is being made
    StepShape shape_;
    ReplicaCounters counters_;
};

}  // namespace headroom
