// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/mixer.h"

namespace headroom {

std::vector<Tensor> tensors(const LatentAttention& a, std::int64_t hidden);
KvLaw kv_law(const LatentAttention& a, const StorageFormat& kv);
LatentAttention shard(const LatentAttention& a, int tp);
std::string shard_fault(const LatentAttention& a, int tp);
std::vector<Operator> core(const LatentAttention& a, const Batch& batch, const MixerContext& context);
std::string kind_name(const LatentAttention& a);

}  // namespace headroom
