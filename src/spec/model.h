// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/precision.h"
#include "spec/routing.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace headroom {

/// rms: one weight per channel (also a layer norm without bias); layer: weight and bias; none: no parameters.
enum class NormKind { none, rms, layer };

/// Norms inside attention: one vector per head dimension (shared by the heads), or one per whole projection.
enum class QkNorm { none, head, projection };

/// An output gate on attention: none, one value per head, or one per element of the output.
enum class OutputGate { none, head, element };

/// Selects the tokens that attention reads: `heads` small heads score every cached token, the best `top_k`
/// are attended. The indexer has a key cache of its own (DeepSeek-V3.2, GLM-5).
struct Indexer {
    int heads = 0;
    int dim = 0;
    int top_k = 0;         ///< tokens that attention then reads
    int query_inputs = 0;  ///< width that the indexer's queries are projected from; 0: the model width
    int key_bits = 8;      ///< bits of a cached key element; the scale adds 4 bytes per token
    bool weights = true;   ///< a projection that weighs the heads, and a norm on the key
    bool shared = false;   ///< uses the choice of an earlier layer: no weights, no cache, no scoring

    bool operator==(const Indexer&) const = default;
};

/// Multi-head, grouped-query and multi-query attention, global or local.
struct SoftmaxAttention {
    int heads = 0;
    int kv_heads = 0;
    int head_dim = 0;         ///< of queries and keys
    int value_dim = 0;        ///< of values, and of a head's output
    std::int64_t window = 0;  ///< attends to the last `window` tokens; 0: to all
    std::int64_t chunk = 0;   ///< attends within its chunk of that many tokens; 0: no chunks
    bool qkv_bias = false;
    bool output_bias = false;
    QkNorm qk_norm = QkNorm::none;
    OutputGate gate = OutputGate::none;
    bool sinks = false;         ///< one learned logit per head
    bool value_is_key = false;  ///< no value projection: keys serve as values (both are cached)
    bool shares_kv = false;     ///< reads an earlier layer's cache: projects and stores no keys and values
    std::int64_t inputs = 0;  ///< width that queries, keys and values are projected from; 0: the model width
    std::int64_t memory = 0;  ///< cross-attention: sees so many tokens of an image, cached once per sequence,
                              ///< and no tokens of the text; 0: attends to the text
    std::optional<Indexer> indexer{};

    bool operator==(const SoftmaxAttention&) const = default;
};

/// Multi-head latent attention: one latent vector and one rope part per token are cached, once, not per head.
struct LatentAttention {
    int heads = 0;
    int q_rank = 0;  ///< 0: queries are projected directly
    int kv_rank = 0;
    int nope_dim = 0;
    int rope_dim = 0;
    int value_dim = 0;
    bool bias = false;
    OutputGate gate = OutputGate::none;
    std::optional<Indexer> indexer{};

    bool operator==(const LatentAttention&) const = default;
};

/// Mamba (one state per channel, a low-rank time step) and Mamba-2 (heads, groups). A fixed state per
/// sequence.
struct StateSpace {
    int version = 2;
    int inner = 0;    ///< channels
    int state = 0;    ///< state size per channel
    int conv = 0;     ///< convolution width
    int heads = 0;    ///< Mamba-2
    int groups = 1;   ///< Mamba-2: B and C are shared within a group
    int dt_rank = 0;  ///< Mamba
    bool conv_bias = true;
    bool bias = false;
    bool inner_norms = false;  ///< Mamba as in Jamba: norms on the time step, B and C
    ElementType state_type = ElementType::fp32;
    ElementType conv_type = ElementType::bf16;  ///< of the last inputs that the convolution keeps

    bool operator==(const StateSpace&) const = default;
};

/// gated_delta: Qwen3-Next; kimi_delta: Kimi Linear; lightning: MiniMax-01; gated_recurrence: Griffin's
/// RG-LRU; short_convolution: LFM2 (no state but the convolution's inputs).
enum class LinearKind { gated_delta, kimi_delta, lightning, gated_recurrence, short_convolution };

/// Linear attention: a key x value state per head and sequence, whatever the context.
struct LinearAttention {
    LinearKind kind = LinearKind::gated_delta;
    int key_heads = 0;
    int value_heads = 0;
    int key_dim = 0;
    int value_dim = 0;
    int conv = 0;       ///< short convolution width on q, k and v; 0: none
    int gate_rank = 0;  ///< kimi_delta: rank of the decay's and gate's projections; 0: full rank
    ElementType state_type = ElementType::fp32;
    ElementType conv_type = ElementType::bf16;  ///< of the last inputs that the convolution keeps

    bool operator==(const LinearAttention&) const = default;
};

/// DeepSeek-V4: one vector per token serves all heads as key and as value. The last `window` tokens are kept
/// whole; older ones as one vector for every `ratio` tokens.
struct CompressedAttention {
    int heads = 0;
    int head_dim = 0;
    int q_rank = 0;
    int output_groups = 1;  ///< heads are projected in groups to `output_rank` each, then together
    int output_rank = 0;
    std::int64_t window = 0;
    int ratio = 0;         ///< 0: nothing beyond the window
    bool overlap = false;  ///< a compressed vector is made of two neighbouring stretches
    std::optional<Indexer>
        indexer{};  ///< chooses among the compressed vectors; its keys are compressed alike

    bool operator==(const CompressedAttention&) const = default;
};

/// A layer without token mixing (hybrid layouts that list feed-forward layers by themselves).
struct NoMixer {
    bool operator==(const NoMixer&) const = default;
};

using Mixer = std::variant<NoMixer, SoftmaxAttention, LatentAttention, StateSpace, LinearAttention,
                           CompressedAttention>;

/// A layer without a feed-forward part.
struct NoFeedForward {
    bool operator==(const NoFeedForward&) const = default;
};

struct DenseFeedForward {
    std::int64_t intermediate = 0;
    bool gated = true;  ///< three matrices (gate, up, down) rather than two
    bool bias = false;

    bool operator==(const DenseFeedForward&) const = default;
};

struct MixtureOfExperts {
    int experts = 0;        ///< of the whole model; every token is routed over these
    int local_experts = 0;  ///< held by one GPU; equals `experts` before sharding
    int top_k = 0;
    std::int64_t intermediate = 0;  ///< of one expert
    bool gated = true;
    bool expert_bias = false;
    bool router_bias = false;  ///< a bias or correction per expert
    std::int64_t shared_intermediate =
        0;  ///< of the dense part beside the experts, all shared experts together; 0: none
    bool shared_gated = true;
    bool shared_gate = false;  ///< a sigmoid gate on the shared part (hidden x 1)
    std::int64_t latent = 0;   ///< experts work on a projection of that width; 0: the model width

    bool operator==(const MixtureOfExperts&) const = default;
};

using FeedForward = std::variant<NoFeedForward, DenseFeedForward, MixtureOfExperts>;

/// How tensor parallelism cuts a tensor: not at all, its rows (outputs, or entries of a table), its columns.
enum class Cut { none, rows, columns };

/// A tensor that no kind above describes, counted as it is (position tables, per-layer embeddings, adapters).
struct ExtraTensor {
    std::string name;
    std::int64_t rows = 0;
    std::int64_t columns = 1;
    Role role = Role::norm;
    bool multiplied = false;  ///< each token is multiplied by it; else it is looked up or added
    Cut cut = Cut::none;

    bool operator==(const ExtraTensor&) const = default;
};

/// One kind of layer; a model's layout says which layers are of this kind.
struct Layer {
    std::string name;
    Mixer mixer{};
    FeedForward feed_forward{};
    int norms = 2;  ///< norms over the model width
    int copies =
        0;  ///< its weights (not its extras) exist so often and its layers take turns; 0: each has own
    std::vector<ExtraTensor> extras{};
    std::optional<Formats> formats{};  ///< where this kind is stored differently from the rest

    bool operator==(const Layer&) const = default;
};

/// Layers that only speculative decoding uses (multi-token prediction). Not part of `parameters.total`.
struct PredictionLayers {
    int count = 0;
    int kind = 0;                     ///< index into Model::kinds
    std::vector<ExtraTensor> extras;  ///< per layer: its projection and norms

    bool operator==(const PredictionLayers&) const = default;
};

struct Model;

/// Speculative decoding: something cheap guesses `guesses` tokens of each sequence, the model checks them all
/// in one step and keeps those before the first wrong one, and one of its own.
struct Speculation {
    int guesses = 0;
    /// Probability that a guess is right when those before it were, as an interval.
    double accept_low = 0;
    double accept = 0;
    double accept_high = 0;
    std::shared_ptr<const Model> draft;  ///< guesses token by token; none: looked up, which costs nothing
    bool own_layers = false;  ///< the draft is the model's prediction layers: it uses its embedding and head

    bool operator==(const Speculation&) const = default;
};

/// A decoder. Every figure that the tool derives starts here.
struct Model {
    std::string name;
    std::string title;
    std::string source;  ///< public repository or paper that the shape is from
    std::int64_t hidden = 0;
    std::int64_t embedding_width = 0;  ///< of embedding and head; 0: the model width
    std::int64_t vocabulary = 0;
    std::int64_t max_context = 0;  ///< positions the model was made for; 0: not said
    bool tied_embeddings = false;
    bool head = true;  ///< false: an embedding model, which makes no logits
    bool head_bias = false;
    NormKind norm = NormKind::rms;
    bool final_norm = true;
    std::vector<ExtraTensor> extras;  ///< outside the layers
    std::vector<Layer> kinds;
    std::vector<int> layout;  ///< kind of each layer, in order
    PredictionLayers prediction;
    Formats formats;
    std::optional<StorageFormat>
        kv_format;  ///< what the config asks for; else the 16-bit type of the activations
    ElementType activation = ElementType::bf16;
    Routing routing{};                       ///< how its experts are taken to be chosen; no part of a file
    std::optional<Speculation> speculation;  ///< of a sharded model: on the last stage, the draft cut alike
    int context_shards = 1;  ///< of one GPU's part: GPUs that a sequence's tokens are cut over

    bool operator==(const Model&) const = default;
};

/// Columns of the embedding and inputs of the head.
std::int64_t embedding_width(const Model& model);

/// How many layers of each kind the model has; same order as `kinds`.
std::vector<int> layers_per_kind(const Model& model);

}  // namespace headroom
