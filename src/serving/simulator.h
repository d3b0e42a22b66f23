// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "serving/batcher.h"
#include "serving/statistics.h"
#include "spec/request.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// Replicas of one kind.
struct Pool {
    PoolRole role = PoolRole::both;
    Shard shard;
    Hardware hardware;
    Engine engine;
    int replicas = 1;
};

/// How a prompt's cache gets from a prefill to a decode replica: layer by layer while the prompt still runs.
struct Handover {
    std::string name;
    Bandwidth bandwidth;  ///< of one GPU and direction, as reached
    Seconds latency;
};

/// One pool that does everything, or a prefill pool and a decode pool with a link between them.
struct System {
    std::vector<Pool> pools;
    ServingPolicy policy;
    std::optional<Handover> handover;
};

/// How requests come.
struct Playback {
    double scale = 1;  ///< arrivals come so many times faster
    std::int64_t concurrency =
        0;                     ///< closed loop: a request is sent when one has ended; 0: as the source says
    std::int64_t every = 1;    ///< one in so many requests, as a balanced router deals them out
    std::int64_t most = 0;     ///< stop after so many requests; 0: never
    std::int64_t context = 0;  ///< the model's longest sequence: requests beyond it are counted; 0: unknown
};

struct RequestRecord {
    std::int64_t id = 0;
    double arrival = 0, first_token = 0, finished = 0;
    std::int64_t input = 0, output = 0, width = 1, cached = 0, preemptions = 0;
};

/// What to tell while it runs; either may be empty.
struct Observers {
    std::function<void(const StepRecord&)> step;
    std::function<void(const RequestRecord&)> request;
};

struct PoolResult {
    PoolRole role = PoolRole::both;
    int replicas = 1;
    std::int64_t steps = 0, preemptions = 0, blocks = 0, block_tokens = 1, blocks_at_end = 0;
    double kv_utilisation = 0;  ///< mean over time of blocks in use over blocks
    double mean_batch = 0;      ///< running sequences of a replica, mean over time
    double busy = 0;            ///< share of the time with a step under way
    double mean_step = 0;       ///< seconds
};

struct SimulationResult {
    std::int64_t requests = 0, completed = 0, refused = 0;
    std::int64_t beyond_context = 0;  ///< of the requests, longer than `Playback::context`; served or refused
    std::int64_t tokens_in = 0, tokens_out = 0;
    double duration = 0;  ///< seconds from the first arrival to the last token
    double arrivals = 0;  ///< seconds from the first arrival to the last; 0: all at once, or closed loop
    Distribution ttft, itl, tpot, e2e;
    std::vector<PoolResult> pools;
    double prefix_hit_rate = 0;  ///< prompt tokens found in the cache
    std::int64_t preemptions = 0;
    std::int64_t waiting_at_last_arrival = 0;
    /// The queue never emptied in the second half of the arrivals and was longer at their end than in their
    /// middle: the load is more than the system carries, and latencies only say how long it was watched.
    bool saturated = false;
    /// When saturated: requests per second that were served while others waited.
    double sustainable_per_s = 0;
    Seconds transfer_mean;  ///< of a handed-over cache, the part that a request waits for
};

/// Runs every request of the source. Deterministic: the same source gives the same result. Holds only the
/// requests that have arrived and are not finished. Formulas: docs/model.md, "Simulation".
SimulationResult simulate(const System& system, const RequestSource& source, const Playback& playback,
                          const Observers& observers = {});

}  // namespace headroom
