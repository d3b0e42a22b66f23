// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/tensor.h"

#include <cmath>
#include <string>
#include <vector>

namespace headroom {

/// Weights of one layer's feed-forward part; of experts those that this GPU holds.
std::vector<Tensor> tensors(const FeedForward& feed_forward, std::int64_t hidden);

/// The part of one GPU: matrices cut over `tp`, experts dealt out over `expert_ranks`, each cut over
/// `expert_tp`.
struct FeedForwardSplit {
    int tp = 1;
    int expert_ranks = 1;
    int expert_tp = 1;
};
FeedForward shard(const FeedForward& feed_forward, const FeedForwardSplit& split);

/// Why it cannot be cut so, or "".
std::string shard_fault(const FeedForward& feed_forward, const FeedForwardSplit& split);

/// Expected number of `held` experts that `tokens` tokens touch when each picks top_k of `experts` uniformly:
/// held * (1 - (1 - top_k / experts)^tokens).
inline double expected_experts(double held, double experts, double top_k, double tokens) {
    if (experts <= 0) return 0;
    return held * (1 - std::pow(1 - top_k / experts, tokens));
}

/// Routing is not quite uniform: with popularity falling as 1 / rank^skew (Zipf), fewer experts are touched.
/// `high` is the uniform figure, which none exceeds; `low` has twice the skew.
struct DistinctExperts {
    double low = 0;
    double expected = 0;
    double high = 0;
};
DistinctExperts distinct_experts(double held, double experts, double top_k, double tokens, double skew);

}  // namespace headroom
