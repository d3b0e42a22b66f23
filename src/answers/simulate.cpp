// SPDX-License-Identifier: Apache-2.0
#include "answers/simulate.h"

#include "answers/limits.h"
#include "base/units.h"
#include "serving/pools.h"

#include <fmt/core.h>

namespace headroom {
namespace {

Pool pool_of(PoolRole role, const Model& model, const Deployment& deployment, const Hardware& hardware,
             const Engine& engine, int replicas) {
    return {role, shard(model, deployment), hardware, engine, replicas};
}

// Why a pool could not hold even one short sequence, or "".
std::string fault_of(const Question& q, const Pool& pool) {
    const Capacity c = capacity(pool.shard, pool.hardware, pool.engine, 1);
    if (c.max_sequences > 0) return "";
    const Ledger& l = c.ledger;
    std::string text = fmt::format(
        "does not fit on {}: weights, activations and runtime need {} of the {} that the engine may use",
        pool.hardware.name, format_binary(l.weights + l.activations + l.runtime), format_binary(l.usable));
    Question asked = q;
    asked.hardware = pool.hardware;
    asked.deployment = pool.shard.deployment;
    if (const auto nearest = nearest_fit(asked, 1)) text += "; nearest fit: " + nearest->change;
    return text;
}

}  // namespace

SimulateAnswer simulate(const SimulateQuestion& s, const std::function<RequestSource()>& open,
                        const Observers& observers) {
    SimulateAnswer a;
    a.asked = s;
    const Question& q = s.question;
    a.system.policy = s.policy;
    const Pool whole = pool_of(PoolRole::both, q.model, q.deployment, q.hardware, q.engine, s.replicas);
    if (s.prefill) {
        const PrefillPool& p = *s.prefill;
        a.system.pools = {pool_of(PoolRole::prefill, q.model, p.deployment, p.hardware, q.engine, p.replicas),
                          whole};
        a.system.pools[1].role = PoolRole::decode;
        a.system.pools[1].replicas = p.decode_replicas;
        a.system.handover = handover_between(a.system.pools[0], a.system.pools[1]);
        if (p.link) a.system.handover = Handover{format(*p.link), *p.link, Seconds{}};
        if (!a.system.handover)
            a.fault = "no link is known between the pools; name its bandwidth with --link";
    } else {
        a.system.pools = {whole};
    }
    for (const Pool& pool : a.system.pools) {
        a.gpus += std::int64_t{pool.replicas} * gpus(pool.shard.deployment);
        if (a.fault.empty()) a.fault = fault_of(q, pool);
    }
    if (!a.fault.empty()) return a;
    Playback playback = s.playback;
    playback.context = q.model.max_context;
    a.result = simulate(a.system, open(), playback, observers);
    if (!s.prefill) return a;
    a.together_replicas = static_cast<int>(a.gpus / gpus(q.deployment));
    if (a.together_replicas < 1) return a;
    System together{.pools = {whole}, .policy = s.policy, .handover = {}};
    together.pools[0].replicas = a.together_replicas;
    a.together = simulate(together, open(), s.playback);
    return a;
}

}  // namespace headroom
