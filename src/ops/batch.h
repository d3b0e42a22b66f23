// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace headroom {

/// Sequences that do the same in one step: each has `past` tokens in the cache and adds `fresh` ones.
/// A decode step at context C (the new token included) is past = C - 1, fresh = 1. Means may be fractional.
struct SequenceGroup {
    double sequences = 0;
    double fresh = 1;
    double past = 0;
    bool samples =
        true;  ///< the last token's logits are needed (false for a prefill chunk that is not the last)
    bool mixed = false;   ///< `past` is a mean: lengths are spread evenly from nothing to twice of it
    bool checks = false;  ///< the fresh tokens are guesses to be checked: the logits of all are needed
};

/// What one GPU group of a replica works on in one step.
struct Batch {
    std::vector<SequenceGroup> groups;
};

inline Batch decode_batch(double sequences, double context) {
    return {{{.sequences = sequences, .fresh = 1, .past = std::max(0.0, context - 1)}}};
}

/// The same for sequences of different lengths, `context` on average.
inline Batch mixed_decode_batch(double sequences, double context) {
    Batch batch = decode_batch(sequences, context);
    batch.groups[0].mixed = true;
    return batch;
}

inline Batch prefill_batch(double sequences, double prompt) {
    return {{{.sequences = sequences, .fresh = prompt, .past = 0}}};
}

inline double tokens(const Batch& batch) {
    double sum = 0;
    for (const SequenceGroup& g : batch.groups) sum += g.sequences * g.fresh;
    return sum;
}

inline double sampled(const Batch& batch) {
    double sum = 0;
    for (const SequenceGroup& g : batch.groups) sum += g.samples ? g.sequences * (g.checks ? g.fresh : 1) : 0;
    return sum;
}

/// Tokens that the last of `fresh` tokens sees when attention reaches back `reach` tokens (0: all of them).
constexpr double visible(double past, double fresh, double reach) {
    const double all = past + fresh;
    return reach == 0 ? all : std::min(all, reach);
}

/// Query-key pairs of one sequence under causal attention: the sum over the fresh tokens of what each sees.
/// Without a reach: fresh * past + fresh (fresh + 1) / 2. With one, tokens before the window fills see fewer.
constexpr double causal_pairs(double past, double fresh, double reach) {
    const double all = fresh * past + fresh * (fresh + 1) / 2;
    if (reach == 0 || past + fresh <= reach) return all;
    const double growing = std::max(0.0, reach - past);  // fresh tokens whose window is not yet full
    return growing * past + growing * (growing + 1) / 2 + (fresh - growing) * reach;
}

/// Query-key pairs of the first `n` tokens when each sees its own chunk of `chunk` tokens up to itself:
/// whole chunks of chunk (chunk + 1) / 2, and the triangle of the last one.
inline double chunk_pairs(double n, double chunk) {
    const double whole = std::floor(n / chunk), rest = n - whole * chunk;
    return (whole * chunk * (chunk + 1) + rest * (rest + 1)) / 2;
}

/// What the fresh tokens of one sequence read and attend to under chunked attention.
struct ChunkReach {
    double pairs = 0;  ///< query-key pairs
    double read = 0;   ///< tokens of cache that any of them sees: from the start of the first one's chunk
};

inline ChunkReach chunk_reach(const SequenceGroup& g, double chunk) {
    if (g.mixed && g.fresh <= chunk) {
        // The mean of (x mod chunk) for x spread evenly from 0 to twice the context.
        const double top = 2 * (g.past + g.fresh);
        const double whole = std::floor(top / chunk), rest = top - whole * chunk;
        const double seen = std::max(1.0, (whole * chunk * chunk + rest * rest) / 2 / top);
        return {g.fresh * seen, std::max(seen, g.fresh)};
    }
    return {chunk_pairs(g.past + g.fresh, chunk) - chunk_pairs(g.past, chunk),
            g.past + g.fresh - std::floor(g.past / chunk) * chunk};
}

}  // namespace headroom
