// SPDX-License-Identifier: Apache-2.0
#include "ops/experts.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

void add_dense(std::vector<Tensor>& to, const std::string& prefix, std::int64_t hidden,
               std::int64_t intermediate, bool gated, bool bias, Role role) {
    add_linear(to, prefix + "up_proj", intermediate, hidden, bias, role, prefix + "up");
    if (gated) add_linear(to, prefix + "gate_proj", intermediate, hidden, bias, role, prefix + "up");
    add_linear(to, prefix + "down_proj", hidden, intermediate, bias, role, prefix + "down");
}

std::vector<Tensor> kind_tensors(const NoFeedForward&, std::int64_t) { return {}; }

std::vector<Tensor> kind_tensors(const DenseFeedForward& f, std::int64_t hidden) {
    std::vector<Tensor> all;
    add_dense(all, "", hidden, f.intermediate, f.gated, f.bias, Role::ffn);
    return all;
}

std::vector<Tensor> kind_tensors(const MixtureOfExperts& f, std::int64_t hidden) {
    const std::int64_t width = f.latent > 0 ? f.latent : hidden;
    std::vector<Tensor> all;
    add_linear(all, "router", f.experts, hidden, f.router_bias, Role::router, "router");
    if (f.latent > 0) {
        add_linear(all, "latent_in", width, hidden, false, Role::ffn, "latent_in");
        add_linear(all, "latent_out", hidden, width, false, Role::ffn, "latent_out");
    }
    std::vector<Tensor> expert;
    add_dense(expert, "experts.", width, f.intermediate, f.gated, f.expert_bias, Role::expert);
    for (Tensor& t : expert) {
        t.copies = f.local_experts;
        t.role = Role::expert;
        all.push_back(t);
    }
    if (f.shared_intermediate > 0) {
        add_dense(all, "shared.", hidden, f.shared_intermediate, f.shared_gated, false, Role::shared_expert);
    }
    if (f.shared_gate) add_linear(all, "shared.gate", 1, hidden, false, Role::router, "shared.gate");
    return all;
}

// Probability of each expert to be among a token's top_k: proportional to its popularity, none above 1 and
// the sum top_k. Those that reach 1 are fixed there and the rest is dealt out again.
std::vector<double> inclusion(std::size_t experts, double top_k, double skew) {
    std::vector<double> weight(experts), p(experts);
    for (std::size_t i = 0; i < experts; ++i) weight[i] = std::pow(static_cast<double>(i + 1), -skew);
    double left = std::min(top_k, static_cast<double>(experts));
    for (std::size_t certain = 0; certain < experts; ++certain) {
        double sum = 0;
        for (std::size_t i = certain; i < experts; ++i) sum += weight[i];
        if (left * weight[certain] <= sum) {
            for (std::size_t i = certain; i < experts; ++i) p[i] = left * weight[i] / sum;
            break;
        }
        p[certain] = 1;
        left -= 1;
    }
    return p;
}

double touched(double held, double experts, double top_k, double tokens, double skew) {
    double sum = 0;
    for (const double p : inclusion(static_cast<std::size_t>(experts), top_k, skew))
        sum += 1 - std::pow(1 - p, tokens);
    return held / experts * sum;
}

}  // namespace

DistinctExperts distinct_experts(double held, double experts, double top_k, double tokens, double skew) {
    if (experts < 1) return {};
    return {touched(held, experts, top_k, tokens, 2 * skew), touched(held, experts, top_k, tokens, skew),
            expected_experts(held, experts, top_k, tokens)};
}

std::vector<Tensor> tensors(const FeedForward& feed_forward, std::int64_t hidden) {
    return std::visit([&](const auto& kind) { return kind_tensors(kind, hidden); }, feed_forward);
}

FeedForward shard(const FeedForward& feed_forward, const FeedForwardSplit& split) {
    if (const auto* dense = std::get_if<DenseFeedForward>(&feed_forward)) {
        DenseFeedForward part = *dense;
        part.intermediate = divide_up(dense->intermediate, split.tp);
        return part;
    }
    if (const auto* moe = std::get_if<MixtureOfExperts>(&feed_forward)) {
        MixtureOfExperts part = *moe;
        part.local_experts = static_cast<int>(divide_up(moe->local_experts, split.expert_ranks));
        part.intermediate = divide_up(moe->intermediate, split.expert_tp);
        part.shared_intermediate = divide_up(moe->shared_intermediate, split.tp);
        return part;
    }
    return feed_forward;
}

std::string shard_fault(const FeedForward& feed_forward, const FeedForwardSplit& split) {
    const auto* moe = std::get_if<MixtureOfExperts>(&feed_forward);
    if (moe == nullptr || split.expert_ranks <= moe->experts) return "";
    return std::to_string(moe->experts) + " experts cannot be dealt out over " +
           std::to_string(split.expert_ranks) + " GPUs";
}

}  // namespace headroom
