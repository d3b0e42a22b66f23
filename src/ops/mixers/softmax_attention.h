// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/mixer.h"

namespace headroom {

std::vector<Tensor> tensors(const SoftmaxAttention& a, std::int64_t hidden);
KvLaw kv_law(const SoftmaxAttention& a, const StorageFormat& kv);
SoftmaxAttention shard(const SoftmaxAttention& a, int tp);
std::string shard_fault(const SoftmaxAttention& a, int tp);
std::vector<Operator> core(const SoftmaxAttention& a, const Batch& batch, const MixerContext& context);
std::string kind_name(const SoftmaxAttention& a);

/// The indexer's weights, cache and scoring, shared with latent attention. `hidden` is the model width.
std::vector<Tensor> tensors(const Indexer& indexer, std::int64_t hidden);
BytesPerToken kv_per_token(const Indexer& indexer);
Operator scoring(const Indexer& indexer, const Batch& batch, const MixerContext& context);

}  // namespace headroom
