// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/replay.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headroom {

/// Means over sequences in memory, each weighted by the steps that it stays (its output), of what the
/// policies give it.
struct HeldTokens {
    double live = 0;     ///< input + (output + 1) / 2
    double final = 0;    ///< input + output
    double buddy = 0;    ///< the next power of two of that
    double guessed = 0;  ///< the same where the output was guessed as the next power of two
    std::int64_t requests = 0;
};

/// Over all requests, outputs cut at `max_length`, prompts as long left out.
HeldTokens held_tokens(const RequestSource& source, std::int64_t max_length);

/// What a policy would do if nothing were lost between sequences: region / held sequences at a time.
struct WasteEstimate {
    double utilisation = 0, internal_waste = 0, reservation_waste = 0;
    double sequences = 0;
};

/// Paged: half a block less half a token is empty per sequence; contiguous: mean of live over held. Sharing
/// and grouped pages have no such formula: the former is estimated as paged, the latter gives zeros.
/// `max_sequences` run at most; 0: as many as memory holds.
WasteEstimate estimate_waste(Policy policy, std::int64_t region, std::int64_t block, std::int64_t max_length,
                             const HeldTokens& held, std::int64_t max_sequences = 0);

/// Why the replay differs from the estimate, in words with numbers.
std::string explain(const WasteEstimate& estimate, const ReplayResult& replayed);

/// Tokens that fit into `room` where every layer keeps every token, as an allocator that knows no windows
/// sees it; 0 when nothing grows.
std::int64_t region_tokens(const ModelKv& kv, Bytes room);

/// Sequences of one length that an empty region takes at once under a policy (`options.region`, `block`,
/// `max_length`, `layout`): how `limits` counts fragmentation.
std::int64_t sequences_that_fit(const ReplayOptions& options, std::int64_t prompt, std::int64_t output);

/// Starts a stream of requests from its beginning.
using OpenRequests = std::function<RequestSource()>;

/// The same replay at each block size. `costs(block)` gives the costs there, since a kernel may be slower on
/// small blocks; may be empty.
std::vector<ReplayResult> sweep_blocks(const OpenRequests& open, const ReplayOptions& options,
                                       std::span<const std::int64_t> blocks,
                                       const std::function<ReplayCosts(std::int64_t block)>& costs = {});

/// Index of the best: by throughput where there is one, else by mean sequences; among equals (0.5 %) the
/// largest block, which has the shortest tables.
std::size_t best_block(std::span<const ReplayResult> results);

}  // namespace headroom
