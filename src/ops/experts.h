// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/tensor.h"

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

}  // namespace headroom
