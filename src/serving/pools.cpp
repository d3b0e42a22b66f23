// SPDX-License-Identifier: Apache-2.0
#include "serving/pools.h"

#include <algorithm>

namespace headroom {

Bytes cache_per_gpu(const Shard& shard, double tokens) {
    Bytes most;
    for (const Model& stage : shard.stages) most = max(most, kv_bytes(kv_of(stage), tokens));
    return most;
}

Seconds transfer_time(const Shard& from, const Shard& to, const Handover& handover, double tokens) {
    return handover.latency +
           max(cache_per_gpu(from, tokens), cache_per_gpu(to, tokens)) / handover.bandwidth;
}

std::optional<Handover> handover_between(const Pool& prefill, const Pool& decode) {
    const Hardware &a = prefill.hardware, &b = decode.hardware;
    const double devices =
        prefill.replicas * gpus(prefill.shard.deployment) + decode.replicas * gpus(decode.shard.deployment);
    const bool one_domain =
        a.name == b.name && a.scale_up && a.scale_up->domain && a.scale_up->domain->value >= devices;
    const auto reached = [](const Hardware& h, const Link& link) {
        const CollectiveCeilings& c = h.reach.collective;
        return Handover{link.name, link.per_direction.value * c.ring, c.base + c.bulk};
    };
    if (one_domain) return reached(a, *a.scale_up);
    const auto outward = [](const Hardware& h) {
        return h.network ? &*h.network : h.pcie ? &*h.pcie : nullptr;
    };
    const Link *from = outward(a), *to = outward(b);
    if (from == nullptr || to == nullptr) return std::nullopt;
    const Handover sending = reached(a, *from), receiving = reached(b, *to);
    return sending.bandwidth < receiving.bandwidth ? sending : receiving;
}

HandoverLinks::HandoverLinks(const System& system) : system_(system) {
    std::size_t replicas = 0, layers = 0;
    for (const Pool& pool : system.pools) replicas += static_cast<std::size_t>(pool.replicas);
    for (const Model& stage : system.pools.front().shard.stages) layers += stage.layout.size();
    layers_ = std::max(1.0, static_cast<double>(layers));
    free_.assign(replicas, 0);
}

double HandoverLinks::move(std::size_t from, std::size_t to, const Live& live, double now) {
    const Shard &a = system_.pools.front().shard, &b = system_.pools.back().shard;
    const double busy = transfer_time(a, b, *system_.handover, static_cast<double>(live.input)).in(second);
    const double first_layer = live.started + (now - live.started) / layers_;
    const double begin = std::max({first_layer, free_[from], free_[to]});
    const double there = std::max(begin + busy, now + busy / layers_);
    free_[from] = free_[to] = there;
    return there;
}

}  // namespace headroom
