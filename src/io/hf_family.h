// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/json_reader.h"
#include "spec/model.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// What a family's reader works on: the mapping that describes the decoder, and the model to fill.
struct HfReading {
    JsonMap config;
    JsonMap root;  ///< of the file, where the decoder's mapping is nested
    Model model{};
    std::vector<std::string> notes{};
    bool complete = true;  ///< false: given up early, so keys that were not asked for mean nothing
};

/// What transformers assumes where a config says nothing; 0: it must be said.
struct HfDefaults {
    std::int64_t hidden = 0;
    std::int64_t layers = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;  ///< 0: as many as heads
    std::int64_t head_dim = 0;  ///< 0: hidden / heads
    std::int64_t vocabulary = 0;
    std::int64_t max_context = 0;
    bool tied = false;
};

/// The sizes that nearly every decoder has, under all their names.
struct HfTrunk {
    int layers = 0;
    int heads = 0;
    int kv_heads = 0;
    int head_dim = 0;
};

/// Fills hidden size, vocabulary, context and tying of the model and returns the rest.
HfTrunk read_trunk(HfReading& r, const HfDefaults& defaults = {});

/// The same without head counts, for models that have no attention of the usual kind.
int read_outer(HfReading& r, const HfDefaults& defaults = {});

std::int64_t read_intermediate(HfReading& r, std::int64_t fallback = 0);

SoftmaxAttention grouped_attention(const HfTrunk& trunk);

/// `bias` of attention on all four projections, or on q, k and v alone.
void set_bias(SoftmaxAttention& attention, bool qkv, bool output);

/// Local layers by `layer_types`; what the config does not say comes from `otherwise`.
std::vector<std::string> read_layer_types(HfReading& r, int layers,
                                          const std::function<std::string(int)>& otherwise);

/// Appends a layer; equal layers become one kind.
void add_layer(Model& model, const Layer& layer);
void add_layers(Model& model, int count, const Layer& layer);

/// a * b as an int; too large a product is a fault of `key`.
int product(HfReading& r, std::string_view key, std::int64_t a, std::int64_t b);

/// Faults `key` with a list's length and ends the reading: what follows would follow from it.
void give_up(HfReading& r, std::string_view key, std::string message);

/// A window that is no shorter than the context is none.
std::int64_t useful_window(const Model& model, std::int64_t window);

/// A layer per type: those called sliding_attention have `window`.
void add_windowed_layers(HfReading& r, const std::vector<std::string>& types, std::int64_t window,
                         SoftmaxAttention attention, const FeedForward& feed_forward, int norms = 2);

/// How a family says what its experts are.
struct HfExperts {
    std::int64_t intermediate = 0;  ///< of one expert; 0: moe_intermediate_size says
    bool router_bias = false;
    bool gated = true;
};
MixtureOfExperts read_experts(HfReading& r, const HfExperts& keys);

/// Qwen's: shared_expert_intermediate_size adds a shared expert with a gate.
MixtureOfExperts read_qwen_experts(HfReading& r);

/// first_k_dense_replace, no more than there are layers.
int dense_layers_first(HfReading& r, int layers);

LatentAttention read_latent(HfReading& r, int heads);

/// Layers for multi-token prediction: each projects token and hidden state, with norms of its own, and is
/// otherwise like `layer`.
void add_prediction(HfReading& r, std::int64_t count, const Layer& layer, int extra_norms);

struct HfFamily {
    std::string_view model_type;
    void (*read)(HfReading&);
};

/// Every model_type that is understood, by file.
std::span<const HfFamily> hf_dense_families();
std::span<const HfFamily> hf_early_families();
std::span<const HfFamily> hf_expert_families();
std::span<const HfFamily> hf_latent_families();
std::span<const HfFamily> hf_hybrid_families();
std::span<const HfFamily> hf_gemma_families();
std::span<const HfFamily> hf_compressed_families();
std::span<const HfFamily> hf_tied_families();

/// All of them.
std::vector<std::span<const HfFamily>> hf_families();

/// Model types that are known and refused, with the reason.
struct HfRefusal {
    std::string_view model_type;
    std::string_view reason;
};
std::span<const HfRefusal> hf_refusals();

}  // namespace headroom
