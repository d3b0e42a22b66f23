// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
    bool checks = false;  ///< the fresh tokens are guesses to be checked: the logits of all are needed
};

/// What one GPU group of a replica works on in one step.
struct Batch {
    std::vector<SequenceGroup> groups;
};

inline Batch decode_batch(double sequences, double context) {
    return {{{.sequences = sequences, .fresh = 1, .past = std::max(0.0, context - 1)}}};
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

}  // namespace headroom
