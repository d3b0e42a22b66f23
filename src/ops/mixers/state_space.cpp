// SPDX-License-Identifier: Apache-2.0
#include "ops/mixers/state_space.h"

#include "ops/mixers/state_traffic.h"

namespace headroom {
namespace {

// Mamba-2 convolves the inputs with B and C, Mamba the inputs alone.
std::int64_t convolved(const StateSpace& s) {
    return s.version == 2 ? s.inner + std::int64_t{2} * s.groups * s.state : s.inner;
}

std::vector<Tensor> mamba2_tensors(const StateSpace& s, std::int64_t hidden) {
    std::vector<Tensor> all;
    add_linear(all, "in_proj", s.inner + convolved(s) + s.heads, hidden, s.bias, Role::attention, "in_proj");
    all.push_back({"conv", convolved(s), s.conv + (s.conv_bias ? 1 : 0), Role::state, "", 1});
    all.push_back({"dt_bias, A_log, D", 3, s.heads, Role::state, "", 1});
    all.push_back({"gated_norm", 1, s.inner, Role::norm, "", 1});
    add_linear(all, "out_proj", hidden, s.inner, s.bias, Role::attention, "out_proj");
    return all;
}

std::vector<Tensor> mamba_tensors(const StateSpace& s, std::int64_t hidden) {
    std::vector<Tensor> all;
    add_linear(all, "in_proj", std::int64_t{2} * s.inner, hidden, s.bias, Role::attention, "in_proj");
    all.push_back({"conv", s.inner, s.conv + (s.conv_bias ? 1 : 0), Role::state, "", 1});
    add_linear(all, "x_proj", s.dt_rank + std::int64_t{2} * s.state, s.inner, false, Role::attention,
               "x_proj");
    add_linear(all, "dt_proj", s.inner, s.dt_rank, true, Role::attention, "dt_proj");
    all.push_back({"A_log, D", s.inner, s.state + 1, Role::state, "", 1});
    if (s.inner_norms)
        all.push_back(
            {"dt_norm, b_norm, c_norm", 1, s.dt_rank + std::int64_t{2} * s.state, Role::norm, "", 1});
    add_linear(all, "out_proj", hidden, s.inner, s.bias, Role::attention, "out_proj");
    return all;
}

}  // namespace

std::vector<Tensor> tensors(const StateSpace& s, std::int64_t hidden) {
    return s.version == 2 ? mamba2_tensors(s, hidden) : mamba_tensors(s, hidden);
}

KvLaw kv_law(const StateSpace& s, const StorageFormat&) {
    // The last conv - 1 inputs, and inner x state values of the recurrence.
    KvLaw law;
    law.per_sequence = Bytes(bits(s.conv_type) / 8 * static_cast<double>(convolved(s)) * (s.conv - 1)) +
                       Bytes(double(s.inner) * s.state * bits(s.state_type) / 8);
    return law;
}

StateSpace shard(const StateSpace& s, int tp) {
    StateSpace part = s;
    part.inner = s.inner / tp;
    part.heads = s.heads / tp;
    part.groups = std::max(1, s.groups / tp);
    return part;
}

std::string shard_fault(const StateSpace& s, int tp) {
    if (s.inner % tp != 0 || (s.version == 2 && s.heads % tp != 0)) {
        return "a state-space layer of " + std::to_string(s.inner) + " channels cannot be cut into " +
               std::to_string(tp);
    }
    return "";
}

std::vector<Operator> core(const StateSpace& s, const Batch& batch, const MixerContext& context) {
    // Per token: decay and input into each state (3 operations), the read-out (2), the convolution. The state
    // is read and written once per sequence and step; while a prompt is scanned it stays on chip.
    Stream op;
    add_state_traffic(op.work, batch, kv_law(s, context.kv).per_sequence);
    const double n = tokens(batch);
    op.work.flop = Flops(n * (5.0 * s.inner * s.state + 2.0 * static_cast<double>(convolved(s)) * s.conv));
    op.work.activations = Bytes(n * 2 * (static_cast<double>(convolved(s)) + 2.0 * s.inner));
    return {{"state_space", op, 1}};
}

std::string kind_name(const StateSpace& s) { return s.version == 2 ? "mamba2" : "mamba"; }

}  // namespace headroom
