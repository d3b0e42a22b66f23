// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/mixer.h"

namespace headroom {

std::vector<Tensor> tensors(const LinearAttention& l, std::int64_t hidden);
KvLaw kv_law(const LinearAttention& l, const StorageFormat& kv);
LinearAttention shard(const LinearAttention& l, int tp);
std::string shard_fault(const LinearAttention& l, int tp);
std::vector<Operator> core(const LinearAttention& l, const Batch& batch, const MixerContext& context);
std::string kind_name(const LinearAttention& l);

}  // namespace headroom
