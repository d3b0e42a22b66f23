// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/mixer.h"

namespace headroom {

std::vector<Tensor> tensors(const CompressedAttention& a, std::int64_t hidden);
KvLaw kv_law(const CompressedAttention& a, const StorageFormat& kv);
CompressedAttention shard(const CompressedAttention& a, int tp);
std::string shard_fault(const CompressedAttention& a, int tp);
std::vector<Operator> core(const CompressedAttention& a, const Batch& batch, const MixerContext& context);
std::string kind_name(const CompressedAttention& a);

}  // namespace headroom
