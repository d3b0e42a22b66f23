// SPDX-License-Identifier: Apache-2.0
#include "ops/mixers/linear_attention.h"

#include "ops/mixers/state_traffic.h"

namespace headroom {
namespace {

std::int64_t keys(const LinearAttention& l) { return std::int64_t{l.key_heads} * l.key_dim; }
std::int64_t values(const LinearAttention& l) { return std::int64_t{l.value_heads} * l.value_dim; }

// Qwen3-Next: q, k, v and the output gate in one projection, decay and step in another, a short convolution
// on q, k, v.
std::vector<Tensor> gated_delta_tensors(const LinearAttention& l, std::int64_t hidden) {
    std::vector<Tensor> all;
    add_linear(all, "in_proj_qkvz", 2 * keys(l) + 2 * values(l), hidden, false, Role::attention, "in_proj");
    add_linear(all, "in_proj_ba", std::int64_t{2} * l.value_heads, hidden, false, Role::attention, "in_proj");
    all.push_back({"conv", 2 * keys(l) + values(l), l.conv, Role::state, "", 1});
    all.push_back({"dt_bias, A_log", 2, l.value_heads, Role::state, "", 1});
    all.push_back({"o_norm", 1, l.value_dim, Role::norm, "", 1});
    add_linear(all, "out_proj", hidden, values(l), false, Role::attention, "out_proj");
    return all;
}

// Kimi Delta Attention: a decay per channel from a low-rank projection, a low-rank (or full) output gate.
std::vector<Tensor> kimi_delta_tensors(const LinearAttention& l, std::int64_t hidden) {
    std::vector<Tensor> all;
    add_linear(all, "qkv_proj", 2 * keys(l) + values(l), hidden, false, Role::attention, "in_proj");
    all.push_back({"conv", 2 * keys(l) + values(l), l.conv, Role::state, "", 1});
    add_linear(all, "f_a_proj", l.key_dim, hidden, false, Role::attention, "in_proj");
    add_linear(all, "f_b_proj", keys(l), l.key_dim, false, Role::attention, "f_b");
    add_linear(all, "b_proj", l.value_heads, hidden, false, Role::attention, "in_proj");
    if (l.gate_rank > 0) {
        add_linear(all, "g_a_proj", l.gate_rank, hidden, false, Role::attention, "in_proj");
        add_linear(all, "g_b_proj", values(l), l.gate_rank, false, Role::attention, "g_b");
    } else {
        add_linear(all, "g_proj", values(l), hidden, false, Role::attention, "in_proj");
    }
    all.push_back({"A_log", 1, l.value_heads, Role::state, "", 1});
    all.push_back({"dt_bias", 1, keys(l), Role::state, "", 1});
    all.push_back({"o_norm", 1, l.value_dim, Role::norm, "", 1});
    add_linear(all, "o_proj", hidden, values(l), false, Role::attention, "out_proj");
    return all;
}

// Lightning attention: q, k, v, an output gate and a norm over the whole output.
std::vector<Tensor> lightning_tensors(const LinearAttention& l, std::int64_t hidden) {
    std::vector<Tensor> all;
    add_linear(all, "qkv_proj", 2 * keys(l) + values(l), hidden, false, Role::attention, "in_proj");
    add_linear(all, "output_gate", values(l), hidden, false, Role::attention, "in_proj");
    all.push_back({"o_norm", 1, values(l), Role::norm, "", 1});
    add_linear(all, "out_proj", hidden, values(l), false, Role::attention, "out_proj");
    return all;
}

// Griffin's RG-LRU: two branches, a convolution, two block-diagonal gates; the state is one value per
// channel.
std::vector<Tensor> gated_recurrence_tensors(const LinearAttention& l, std::int64_t hidden) {
    const std::int64_t width = values(l);
    std::vector<Tensor> all;
    add_linear(all, "linear_xy", 2 * width, hidden, true, Role::attention, "in_proj");
    all.push_back({"conv", width, l.conv + 1, Role::state, "", 1});
    all.push_back({"gates", 2 * width, l.value_dim, Role::attention, "gates", 1});
    all.push_back({"gates.bias, decay", 3, width, Role::state, "", 1});
    add_linear(all, "linear_out", hidden, width, true, Role::attention, "out_proj");
    return all;
}

// LFM2: three branches, a short convolution between two gates; only its last inputs are kept.
std::vector<Tensor> short_convolution_tensors(const LinearAttention& l, std::int64_t hidden) {
    std::vector<Tensor> all;
    add_linear(all, "in_proj", 3 * values(l), hidden, false, Role::attention, "in_proj");
    all.push_back({"conv", values(l), l.conv, Role::state, "", 1});
    add_linear(all, "out_proj", hidden, values(l), false, Role::attention, "out_proj");
    return all;
}

bool mixes_channels_alone(LinearKind kind) {
    return kind == LinearKind::gated_recurrence || kind == LinearKind::short_convolution;
}

// Elements of the recurrent state of one sequence.
double state_elements(const LinearAttention& l) {
    if (l.kind == LinearKind::short_convolution) return 0;
    if (l.kind == LinearKind::gated_recurrence) return static_cast<double>(values(l));
    return double(l.value_heads) * l.key_dim * l.value_dim;
}

double convolved(const LinearAttention& l) {
    if (l.conv == 0) return 0;
    const auto width = mixes_channels_alone(l.kind) ? values(l) : 2 * keys(l) + values(l);
    return static_cast<double>(width);
}

// Operations per token and state element: decay, outer product and read-out; the delta rule reads and
// corrects first.
double operations_per_element(LinearKind kind) {
    switch (kind) {
        case LinearKind::gated_delta:
        case LinearKind::kimi_delta:
            return 7;
        case LinearKind::lightning:
            return 5;
        case LinearKind::gated_recurrence:
            return 4;
        case LinearKind::short_convolution:
            return 0;
    }
    return 0;
}

}  // namespace

std::vector<Tensor> tensors(const LinearAttention& l, std::int64_t hidden) {
    switch (l.kind) {
        case LinearKind::gated_delta:
            return gated_delta_tensors(l, hidden);
        case LinearKind::kimi_delta:
            return kimi_delta_tensors(l, hidden);
        case LinearKind::lightning:
            return lightning_tensors(l, hidden);
        case LinearKind::gated_recurrence:
            return gated_recurrence_tensors(l, hidden);
        case LinearKind::short_convolution:
            return short_convolution_tensors(l, hidden);
    }
    return {};
}

KvLaw kv_law(const LinearAttention& l, const StorageFormat&) {
    KvLaw law;
    law.per_sequence = Bytes(state_elements(l) * bits(l.state_type) / 8);
    if (l.conv > 0) law.per_sequence += Bytes(bits(l.conv_type) / 8 * convolved(l) * (l.conv - 1));
    return law;
}

LinearAttention shard(const LinearAttention& l, int tp) {
    LinearAttention part = l;
    part.key_heads = l.key_heads == 0 ? 0 : std::max(1, l.key_heads / tp);
    part.value_heads = std::max(1, l.value_heads / tp);
    return part;
}

std::string shard_fault(const LinearAttention& l, int tp) {
    if (l.value_heads % tp == 0) return "";
    return std::to_string(l.value_heads) + " linear-attention heads cannot be cut into " + std::to_string(tp);
}

std::vector<Operator> core(const LinearAttention& l, const Batch& batch, const MixerContext& context) {
    Stream op;
    add_state_traffic(op.work, batch, kv_law(l, context.kv).per_sequence);
    const double n = tokens(batch);
    op.work.flop =
        Flops(n * (operations_per_element(l.kind) * state_elements(l) + 2 * convolved(l) * l.conv));
    op.work.activations = Bytes(n * 2 * static_cast<double>(2 * keys(l) + 2 * values(l)));
    return {{"linear_attention", op, 1}};
}

std::string kind_name(const LinearAttention& l) {
    switch (l.kind) {
        case LinearKind::gated_delta:
            return "gated-delta";
        case LinearKind::kimi_delta:
            return "kimi-delta";
        case LinearKind::lightning:
            return "lightning";
        case LinearKind::gated_recurrence:
            return "gated-recurrence";
        case LinearKind::short_convolution:
            return "short-convolution";
    }
    return "";
}

}  // namespace headroom
