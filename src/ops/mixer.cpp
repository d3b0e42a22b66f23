// SPDX-License-Identifier: Apache-2.0
#include "ops/mixer.h"

#include "ops/mixers/compressed_attention.h"
#include "ops/mixers/latent_attention.h"
#include "ops/mixers/linear_attention.h"
#include "ops/mixers/softmax_attention.h"
#include "ops/mixers/state_space.h"

namespace headroom {
namespace {

std::vector<Tensor> tensors(const NoMixer&, std::int64_t) { return {}; }
KvLaw kv_law(const NoMixer&, const StorageFormat&) { return {}; }
NoMixer shard(const NoMixer&, int) { return {}; }
std::string shard_fault(const NoMixer&, int) { return ""; }
std::vector<Operator> core(const NoMixer&, const Batch&, const MixerContext&) { return {}; }
std::string kind_name(const NoMixer&) { return "none"; }

}  // namespace

std::vector<Tensor> tensors(const Mixer& mixer, std::int64_t hidden) {
    return std::visit([&](const auto& kind) { return tensors(kind, hidden); }, mixer);
}

KvLaw kv_law(const Mixer& mixer, const StorageFormat& kv) {
    return std::visit([&](const auto& kind) { return kv_law(kind, kv); }, mixer);
}

Mixer shard(const Mixer& mixer, int tp) {
    return std::visit([&](const auto& kind) { return Mixer(shard(kind, tp)); }, mixer);
}

std::string shard_fault(const Mixer& mixer, int tp) {
    return std::visit([&](const auto& kind) { return shard_fault(kind, tp); }, mixer);
}

std::vector<Operator> core(const Mixer& mixer, const Batch& batch, const MixerContext& context) {
    return std::visit([&](const auto& kind) { return core(kind, batch, context); }, mixer);
}

std::string kind_name(const Mixer& mixer) {
    return std::visit([](const auto& kind) { return kind_name(kind); }, mixer);
}

}  // namespace headroom
