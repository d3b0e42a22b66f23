// SPDX-License-Identifier: Apache-2.0
#include "ops/experts.h"

#include <algorithm>

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

}  // namespace

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
