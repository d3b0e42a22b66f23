// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/model.h"

#include <array>
#include <string_view>
#include <utility>

namespace headroom {

// The fields of our model YAML, named once for reading and writing: fields(archive, (T*)nullptr) hands the
// archive of a T its keys and members.
//   f.required(key, member)   a whole number of at least 1
//   f.optional(key, member)   a whole number, left out when it is the default; so are the next three
//   f.flag(key, member)  f.choice(key, member, names)  f.group(key, member that is an optional struct)
//   f.same_unless_given(key, member, other)   takes the other member's value when it is left out

inline constexpr std::array kNormKinds{std::pair{NormKind::none, std::string_view("none")},
                                       std::pair{NormKind::rms, std::string_view("rms")},
                                       std::pair{NormKind::layer, std::string_view("layer")}};
inline constexpr std::array kQkNorms{std::pair{QkNorm::none, std::string_view("none")},
                                     std::pair{QkNorm::head, std::string_view("head")},
                                     std::pair{QkNorm::projection, std::string_view("projection")}};
inline constexpr std::array kOutputGates{std::pair{OutputGate::none, std::string_view("none")},
                                         std::pair{OutputGate::head, std::string_view("head")},
                                         std::pair{OutputGate::element, std::string_view("element")}};
inline constexpr std::array kCuts{std::pair{Cut::none, std::string_view("none")},
                                  std::pair{Cut::rows, std::string_view("rows")},
                                  std::pair{Cut::columns, std::string_view("columns")}};
inline constexpr std::array kLinearKinds{
    std::pair{LinearKind::gated_delta, std::string_view("gated_delta")},
    std::pair{LinearKind::kimi_delta, std::string_view("kimi_delta")},
    std::pair{LinearKind::lightning, std::string_view("lightning")},
    std::pair{LinearKind::gated_recurrence, std::string_view("gated_recurrence")},
    std::pair{LinearKind::short_convolution, std::string_view("short_convolution")}};

// `kind:` of attention and feed_forward, by the order of the variants' alternatives.
inline constexpr std::array kMixerNames{std::string_view("none"),   std::string_view("softmax"),
                                        std::string_view("latent"), std::string_view("state_space"),
                                        std::string_view("linear"), std::string_view("compressed")};
static_assert(kMixerNames.size() == std::variant_size_v<Mixer>);
inline constexpr std::array kFeedForwardNames{std::string_view("none"), std::string_view("dense"),
                                              std::string_view("experts")};
static_assert(kFeedForwardNames.size() == std::variant_size_v<FeedForward>);

template <class Archive>
void fields(Archive& f, const Indexer*) {
    f.optional("heads", &Indexer::heads);
    f.optional("dim", &Indexer::dim);
    f.required("top_k", &Indexer::top_k);
    f.optional("query_inputs", &Indexer::query_inputs);
    f.optional("key_bits", &Indexer::key_bits);
    f.flag("weights", &Indexer::weights);
    f.flag("shared", &Indexer::shared);
}

template <class Archive>
void fields(Archive&, const NoMixer*) {}

template <class Archive>
void fields(Archive& f, const SoftmaxAttention*) {
    f.required("heads", &SoftmaxAttention::heads);
    f.required("kv_heads", &SoftmaxAttention::kv_heads);
    f.required("head_dim", &SoftmaxAttention::head_dim);
    f.same_unless_given("value_dim", &SoftmaxAttention::value_dim, &SoftmaxAttention::head_dim);
    f.optional("window", &SoftmaxAttention::window);
    f.optional("chunk", &SoftmaxAttention::chunk);
    f.flag("qkv_bias", &SoftmaxAttention::qkv_bias);
    f.flag("output_bias", &SoftmaxAttention::output_bias);
    f.choice("qk_norm", &SoftmaxAttention::qk_norm, kQkNorms);
    f.choice("gate", &SoftmaxAttention::gate, kOutputGates);
    f.flag("sinks", &SoftmaxAttention::sinks);
    f.flag("value_is_key", &SoftmaxAttention::value_is_key);
    f.flag("shares_kv", &SoftmaxAttention::shares_kv);
    f.optional("inputs", &SoftmaxAttention::inputs);
    f.optional("memory", &SoftmaxAttention::memory);
    f.group("indexer", &SoftmaxAttention::indexer);
}

template <class Archive>
void fields(Archive& f, const LatentAttention*) {
    f.required("heads", &LatentAttention::heads);
    f.optional("q_rank", &LatentAttention::q_rank);
    f.required("kv_rank", &LatentAttention::kv_rank);
    f.required("nope_dim", &LatentAttention::nope_dim);
    f.optional("rope_dim", &LatentAttention::rope_dim);
    f.required("value_dim", &LatentAttention::value_dim);
    f.flag("bias", &LatentAttention::bias);
    f.choice("gate", &LatentAttention::gate, kOutputGates);
    f.group("indexer", &LatentAttention::indexer);
}

template <class Archive>
void fields(Archive& f, const StateSpace*) {
    f.optional("version", &StateSpace::version);
    f.required("inner", &StateSpace::inner);
    f.required("state", &StateSpace::state);
    f.required("conv", &StateSpace::conv);
    f.optional("heads", &StateSpace::heads);
    f.optional("groups", &StateSpace::groups);
    f.optional("dt_rank", &StateSpace::dt_rank);
    f.flag("conv_bias", &StateSpace::conv_bias);
    f.flag("bias", &StateSpace::bias);
    f.flag("inner_norms", &StateSpace::inner_norms);
    f.choice("state_type", &StateSpace::state_type, kElementTypes);
    f.choice("conv_type", &StateSpace::conv_type, kElementTypes);
}

template <class Archive>
void fields(Archive& f, const LinearAttention*) {
    f.choice("variant", &LinearAttention::kind, kLinearKinds);
    f.optional("key_heads", &LinearAttention::key_heads);
    f.required("value_heads", &LinearAttention::value_heads);
    f.optional("key_dim", &LinearAttention::key_dim);
    f.required("value_dim", &LinearAttention::value_dim);
    f.optional("conv", &LinearAttention::conv);
    f.optional("gate_rank", &LinearAttention::gate_rank);
    f.choice("state_type", &LinearAttention::state_type, kElementTypes);
    f.choice("conv_type", &LinearAttention::conv_type, kElementTypes);
}

template <class Archive>
void fields(Archive& f, const CompressedAttention*) {
    f.required("heads", &CompressedAttention::heads);
    f.required("head_dim", &CompressedAttention::head_dim);
    f.required("q_rank", &CompressedAttention::q_rank);
    f.optional("output_groups", &CompressedAttention::output_groups);
    f.required("output_rank", &CompressedAttention::output_rank);
    f.required("window", &CompressedAttention::window);
    f.optional("ratio", &CompressedAttention::ratio);
    f.flag("overlap", &CompressedAttention::overlap);
    f.group("indexer", &CompressedAttention::indexer);
}

template <class Archive>
void fields(Archive&, const NoFeedForward*) {}

template <class Archive>
void fields(Archive& f, const DenseFeedForward*) {
    f.required("intermediate", &DenseFeedForward::intermediate);
    f.flag("gated", &DenseFeedForward::gated);
    f.flag("bias", &DenseFeedForward::bias);
}

template <class Archive>
void fields(Archive& f, const MixtureOfExperts*) {
    f.required("experts", &MixtureOfExperts::experts);
    f.required("top_k", &MixtureOfExperts::top_k);
    f.required("intermediate", &MixtureOfExperts::intermediate);
    f.flag("gated", &MixtureOfExperts::gated);
    f.flag("expert_bias", &MixtureOfExperts::expert_bias);
    f.flag("router_bias", &MixtureOfExperts::router_bias);
    f.optional("shared_intermediate", &MixtureOfExperts::shared_intermediate);
    f.flag("shared_gated", &MixtureOfExperts::shared_gated);
    f.flag("shared_gate", &MixtureOfExperts::shared_gate);
    f.optional("latent", &MixtureOfExperts::latent);
}

template <class Archive>
void fields(Archive& f, const ExtraTensor*) {
    f.text("name", &ExtraTensor::name);
    f.required("rows", &ExtraTensor::rows);
    f.optional("columns", &ExtraTensor::columns);
    f.choice("role", &ExtraTensor::role, kRoles);
    f.flag("multiplied", &ExtraTensor::multiplied);
    f.choice("cut", &ExtraTensor::cut, kCuts);
}

}  // namespace headroom
