// SPDX-License-Identifier: Apache-2.0
#include "answers/limits.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {

Bytes bytes_needed(const Question& q, const Deployment& deployment, double context) {
    const Shard part = shard(q.model, deployment);
    Bytes most;
    for (std::size_t s = 0; s < part.stages.size(); ++s) {
        const Ledger l = ledger(part, s, q.hardware, q.engine);
        const Bytes used =
            l.weights + l.activations + l.runtime + admitted_bytes(kv_of(part.stages[s]), q.engine, context);
        most = max(most, used / q.engine.memory.utilisation.value);
    }
    return most;
}

std::optional<NearestFit> nearest_fit(const Question& q, double context) {
    std::optional<NearestFit> best;
    for (int tp = 1; tp <= 16; tp *= 2) {
        for (int pp = 1; tp * pp <= 64; pp *= 2) {
            Deployment d = q.deployment;
            d.tp = tp;
            d.pp = pp;
            if (gpus(d) <= gpus(q.deployment) ||
                (best && gpus(d) >= gpus(best->deployment) && tp < best->deployment.tp))
                continue;
            if (best && gpus(d) > gpus(best->deployment)) continue;
            if (!deployment_faults(q.model, d).empty()) continue;
            const Bytes needs = bytes_needed(q, d, context);
            if (needs > q.hardware.memory.capacity.value) continue;
            std::string change = fmt::format("--tp {}", tp);
            if (pp > 1) change += fmt::format(" --pp {}", pp);
            best = NearestFit{change, d, needs};
        }
    }
    return best;
}

namespace {

std::vector<PolicyLimit> policy_limits(const Question& q, const Capacity& c,
                                       const std::vector<Policy>& policies, std::int64_t context,
                                       std::int64_t longest) {
    std::vector<PolicyLimit> limits;
    for (const Policy policy : policies) {
        ReplayOptions o;
        o.policy = policy;
        o.block = c.block_tokens;
        o.max_length = longest;
        o.region = region_tokens(c.kv, c.ledger.kv);
        if (policy == Policy::grouped || policy == Policy::grouped_keep) {
            o.layout = page_layout(c.kv, c.block_tokens);
            o.region = static_cast<std::int64_t>(std::max(0.0, c.ledger.kv.in(byte)));
        }
        limits.push_back(
            {policy, q.deployment.dp * sequences_that_fit(o, std::max<std::int64_t>(1, context - 1),
                                                          std::min<std::int64_t>(1, context - 1))});
    }
    return limits;
}

}  // namespace

LimitsAnswer limits(const Question& q, const std::vector<std::int64_t>& contexts,
                    const std::vector<Policy>& policies) {
    LimitsAnswer answer;
    answer.question = q;
    const Shard part = shard(q.model, q.deployment);
    const std::int64_t longest =
        std::max(q.model.max_context, *std::max_element(contexts.begin(), contexts.end()));
    for (const std::int64_t context : contexts) {
        const Capacity c = capacity(part, q.hardware, q.engine, static_cast<double>(context));
        if (answer.results.empty()) answer.capacity = c;
        answer.results.push_back(
            {context, c.max_sequences, c.per_sequence, policy_limits(q, c, policies, context, longest)});
    }
    for (std::size_t s = 0; s < part.stages.size(); ++s) {
        const Ledger l = ledger(part, s, q.hardware, q.engine);
        answer.stages.push_back(
            {static_cast<int>(part.stages[s].layout.size()), l.weights, l.kv, growth(kv_of(part.stages[s]))});
    }
    const double first = static_cast<double>(contexts.front());
    answer.needs = bytes_needed(q, q.deployment, first);
    answer.fits = answer.results.front().max_sequences >= 1;
    if (!answer.fits) answer.nearest = nearest_fit(q, first);
    return answer;
}

}  // namespace headroom
