// SPDX-License-Identifier: Apache-2.0
#include "planner/plan.h"
#include "serving/pools.h"

#include <algorithm>
#include <numeric>

namespace headroom {
namespace {

// Requests that are run at most: enough for a percentile, few enough for an answer in a second.
constexpr std::int64_t kRequests = 60000;

}  // namespace

Verification verify(const PlanInputs& in, const Objectives& o, const Candidate& c) {
    System system;
    const auto add = [&](PoolRole role, const Group& g, std::int64_t replicas) {
        system.pools.push_back({role, shard(in.variants[c.variant].model, g.deployment),
                                in.offers[g.offer].hardware, engine_of(in, g), static_cast<int>(replicas)});
    };
    Verification v;
    // A balanced router gives every replica a like share: one of them, or the least that keeps the ratio of
    // the pools, stands for all.
    v.every = c.prefill ? std::gcd(c.prefill->replicas, c.decode.replicas) : c.decode.replicas;
    if (c.prefill) add(PoolRole::prefill, *c.prefill, c.prefill->replicas / v.every);
    add(c.prefill ? PoolRole::decode : PoolRole::both, c.decode, c.decode.replicas / v.every);
    if (c.prefill) {
        system.handover = handover_between(system.pools[0], system.pools[1]);
        if (in.link) system.handover = Handover{"given", *in.link, {}};
    }
    const Playback playback{.scale = in.scale, .every = v.every, .most = kRequests};
    v.result = simulate(system, in.requests(), playback);
    v.ttft = Seconds(v.result.ttft.percentile(o.percentile));
    v.itl = Seconds(v.result.itl.percentile(o.percentile));
    v.tpot = Seconds(v.result.tpot.percentile(o.percentile));
    v.e2e = Seconds(v.result.e2e.percentile(o.percentile));
    const auto look = [&](const std::optional<Seconds>& wanted, Seconds value) {
        if (wanted) v.worst = std::max(v.worst, value / *wanted);
    };
    look(o.ttft, v.ttft);
    look(o.itl, v.itl);
    look(o.tpot, v.tpot);
    look(o.e2e, v.e2e);
    if (v.result.saturated) v.worst = 2;
    v.meets = v.worst <= 1;
    return v;
}

}  // namespace headroom
