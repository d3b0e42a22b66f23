// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/mixer.h"

namespace headroom {

std::vector<Tensor> tensors(const StateSpace& s, std::int64_t hidden);
KvLaw kv_law(const StateSpace& s, const StorageFormat& kv);
StateSpace shard(const StateSpace& s, int tp);
std::string shard_fault(const StateSpace& s, int tp);
std::vector<Operator> core(const StateSpace& s, const Batch& batch, const MixerContext& context);
std::string kind_name(const StateSpace& s);

}  // namespace headroom
