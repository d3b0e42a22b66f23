// SPDX-License-Identifier: Apache-2.0
#include "serving/pools.h"

#include "base/units.h"
#include "planner/plan.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr std::size_t kPairs = 8;  // that are kept for the list and the verification

Seconds moved(const PlanInputs& in, const Candidate& c) {
    const auto pool = [&](PoolRole role, const Group& g) {
        return Pool{role, shard(in.variants[c.variant].model, g.deployment), in.offers[g.offer].hardware,
                    engine_of(in, g), static_cast<int>(g.replicas)};
    };
    const Pool from = pool(PoolRole::prefill, *c.prefill), to = pool(PoolRole::decode, c.decode);
    std::optional<Handover> link = handover_between(from, to);
    if (in.link) link = Handover{"given", *in.link, {}};
    if (!link) return Seconds(1e9);
    // All but the last layer moves while the prompt still runs, when the link keeps up.
    const Seconds whole = transfer_time(from.shard, to.shard, *link, in.load.input);
    const auto layers =
        static_cast<double>(std::max<std::size_t>(1, in.variants[c.variant].model.layout.size()));
    const Seconds own = c.prefill->state.iteration;
    return max(whole / layers, whole - (1 - 1 / layers) * own);
}

Candidate pair(const PlanInputs& in, const Objectives& o, const Candidate& p, const Candidate& d) {
    Candidate c = d;
    c.prefill = p.decode;
    const SteadyState &first = p.decode.state, &then = d.decode.state;
    const Seconds move = moved(in, c);
    c.ttft_mean = first.ttft_mean;
    c.ttft_tail = first.ttft_tail;
    // The gap before the second token holds the move: one gap in each request's output - 1.
    const double beyond = 1 - o.percentile;
    c.itl_mean = then.itl_mean + move / std::max(1.0, in.load.output - 1);
    c.itl_tail = 1 / std::max(1.0, in.load.output - 1) > beyond ? max(then.itl_tail, then.itl_mean + move)
                                                                : then.itl_tail;
    c.tpot_tail = then.tpot_tail + move / std::max(1.0, in.load.output - 1);
    const double longest = std::max(in.load.output, length_at(in.load.outputs, o.percentile));
    c.e2e_tail = first.ttft_mean + move + (longest - 1) * then.itl_mean + (first.ttft_tail - first.ttft_mean);
    c.utilisation = std::max(first.utilisation, then.utilisation);
    set_totals(c, in, o);
    c.why_not = missed(c, o);
    if (move >= Seconds(1e8)) c.why_not = "no link between the devices is known";
    if (c.gpus > o.max_gpus) c.why_not = fmt::format("needs {} GPUs, {} are allowed", c.gpus, o.max_gpus);
    c.meets = c.why_not.empty();
    return c;
}

}  // namespace

std::vector<Candidate> pair_pools(const PlanInputs& in, const Objectives& o,
                                  const std::vector<Candidate>& prefill, const std::vector<Candidate>& decode,
                                  std::int64_t& pairs) {
    std::vector<Candidate> all;
    for (const Candidate& p : prefill) {
        for (const Candidate& d : decode) {
            if (p.meets && d.meets && p.variant == d.variant) all.push_back(pair(in, o, p, d));
        }
    }
    pairs = static_cast<std::int64_t>(all.size());
    std::stable_sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
        if (a.meets != b.meets) return a.meets;
        return rank_value(a, o) < rank_value(b, o);
    });
    if (all.size() > kPairs) all.resize(kPairs);
    return all;
}

}  // namespace headroom
