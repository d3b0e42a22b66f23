// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/grouped.h"
#include "spec/request.h"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace headroom {

/// How KV memory is given to sequences. `buddy` knows the output, `buddy_pow2` guesses it up to a factor of
/// two, `buddy_max` does not.
enum class Policy {
    reserve,
    oracle,
    buddy,
    buddy_pow2,
    buddy_max,
    paged,
    paged_shared,
    grouped,
    grouped_keep
};

inline constexpr std::array kPolicies{
    std::pair{Policy::reserve, std::string_view("reserve")},
    std::pair{Policy::oracle, std::string_view("oracle")},
    std::pair{Policy::buddy, std::string_view("buddy")},
    std::pair{Policy::buddy_pow2, std::string_view("buddy-pow2")},
    std::pair{Policy::buddy_max, std::string_view("buddy-max")},
    std::pair{Policy::paged, std::string_view("paged")},
    std::pair{Policy::paged_shared, std::string_view("paged-shared")},
    std::pair{Policy::grouped, std::string_view("grouped")},
    std::pair{Policy::grouped_keep, std::string_view("grouped-keep")},
};
std::string_view to_string(Policy policy);

/// Whether the policy gives out blocks, so that `block` matters.
bool is_paged(Policy policy);

/// Time of the engine, injected so that the replay needs no model of it. Empty functions cost nothing.
struct ReplayCosts {
    std::function<Seconds(double sequences, double live_tokens)> step;  ///< a decode step
    std::function<Seconds(double tokens)> prefill;  ///< of prompt tokens not found in a cache
};

struct ReplayOptions {
    Policy policy = Policy::paged;
    std::int64_t region = 0;         ///< tokens; bytes for the grouped policies
    std::int64_t block = 16;         ///< tokens
    std::int64_t max_length = 8192;  ///< of prompt and output: longer outputs are cut, longer prompts refused
    std::int64_t max_sequences = 0;  ///< the engine's own limit; 0: none
    PageLayout layout;               ///< for the grouped policies
    double beam_switch = 0.1;        ///< chance per step that a beam dies and another one is forked
    ReplayCosts costs;
    std::function<void(std::int64_t requests)> progress;  ///< called now and then with the requests begun
};

/// Averages over the time under load: from when the region has filled and turned over once, as long as a
/// request waits. Fractions of the region add to 1.
struct ReplayResult {
    Policy policy = Policy::paged;
    std::int64_t block = 0;
    double utilisation = 0, internal_waste = 0, reservation_waste = 0, external_waste = 0, free = 0;
    double cached = 0;          ///< of `free`: kept for its content
    double shared_savings = 0;  ///< tokens served from another's copy over tokens live
    double prefix_found = 0;    ///< prompt tokens found in the cache over prompt tokens
    double mean_sequences = 0;
    double mean_live_tokens = 0;               ///< of all sequences, shared ones counted for each
    std::optional<TokenRate> throughput;       ///< output tokens over time, when costs are given
    std::int64_t requests = 0, completed = 0;  ///< begun, ended
    std::int64_t output_tokens = 0;
    std::int64_t cut = 0;      ///< requests whose output was cut at `max_length`
    std::int64_t refused = 0;  ///< whose prompt alone is as long, or that no empty region could hold
    std::int64_t preemptions = 0;
    std::int64_t steps = 0;
    bool loaded = true;  ///< false: nothing ever waited; the averages are over all of the time
    /// Mean used fraction in equal stretches of all steps, the start and the end included.
    std::vector<double> utilisation_over_time;
};

/// Sends requests through an allocator in the order of arrival: the first that waits is admitted as soon as
/// it fits (none passes it), every running sequence makes one token a step, and when a block is wanted and
/// none is left the sequence that was admitted last goes back to the front of the queue and starts over with
/// what it has made. Arrival times are not used: under load the queue is never empty.
ReplayResult replay(const RequestSource& source, const ReplayOptions& options);

}  // namespace headroom
