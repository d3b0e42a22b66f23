// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"
#include "spec/interval.h"
#include "spec/source.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// How an engine's kernels hold the experts of one weight format: dimensions are rounded up to a multiple,
/// in elements; first the width and one GPU's part of the inner width, then each product's outputs and
/// inputs.
struct ExpertPadding {
    std::string format;
    std::vector<std::string> generations;  ///< of devices that these kernels are chosen on; empty: all others
    int hidden = 1;
    int intermediate = 1;
    int outputs = 1;
    int inputs = 1;
    int scale_outputs = 1;       ///< outputs, as the scales have them
    bool loaded_scales = false;  ///< the scales are kept as loaded beside those that the kernels read
    std::string source;
};

/// How an engine divides a GPU's memory: KV = device * utilisation - weights - activation peak - runtime, or
/// where the utilisation is of what is free (TensorRT-LLM): utilisation * (device - the same three).
struct EngineMemory {
    Fact<double> utilisation;  ///< share of the device's memory that the engine may use
    bool of_free = false;
    Fact<double> block_tokens;  ///< tokens of a KV block; 1: no blocks
    /// Activation peak = logits_copies * max_sequences * vocabulary * 4 B
    ///                 + token_factor * max_batched_tokens * (2 hidden + 2 intermediate) * 2 B.
    Fact<double> logits_copies;
    Fact<double> token_factor;
    /// Where one was measured, it counts instead: of the model and limits that it was measured with.
    std::optional<Fact<Bytes>> activation_peak;
    std::map<int, Fact<Bytes>> runtime_by_tp;  ///< context, communication buffers, graphs where subtracted;
                                               ///< the next lower tp applies
    /// Runtime of GPUs without a scale-up link, whatever their number: no buffers for collectives over it.
    std::optional<Fact<Bytes>> runtime_without_link;
    std::vector<ExpertPadding> expert_padding;      ///< the first that fits holds
    std::optional<Fact<Bytes>> allocation_granule;  ///< tensors take whole ones, see `unsplit_end`
    bool position_tables = false;  ///< sines and cosines of all positions that the model has are kept
    bool window_admission =
        false;  ///< window layers are admitted with window - 1 + max_batched_tokens tokens and one block
};

struct EngineScheduler {
    Fact<double> max_sequences;       ///< of one replica
    Fact<double> max_batched_tokens;  ///< tokens of one step, prefill and decode together
    bool chunked_prefill = true;
};

/// Times that no operator shows, of the host but for `quantise`. Each is an interval of seconds.
///   step = per_step + (device^n + host^n)^(1/n),  host = sequences per_sequence + prompts per_prompt,  n =
///   overlap
struct EngineTime {
    Interval per_step;      ///< of every step, while the device waits
    Interval per_sequence;  ///< of each decoding sequence: sampling, detokenising, streaming
    Interval per_prompt;    ///< of each prompt, or chunk of one, that a step carries: admission, tokenising
    Interval per_request;   ///< before the first token, outside the steps: queues, transport
    /// Of a kernel that does nothing but quantise the input of an 8-bit product, or the queries of attention
    /// over an 8-bit cache; on the device. 0 where the kernel before it does so.
    Interval quantise;
    /// A step that carries a prompt takes this times what its operators and the host come to: long prompts
    /// run at a lower clock than kernels that are timed with pauses, and with gaps between them,
    double prompt_stretch = 1;
    /// and not less than so much for each expert layer: outside a graph the host issues routing, sorting and
    /// products one by one.
    double per_expert_layer = 0;
    /// First tokens of served runs that a fit left out, measured over predicted: nine in ten lie between.
    std::optional<Interval> first_token;
    double overlap = 1;               ///< 1: host and device take turns; large: the longer hides the other
    double paged_attention_cost = 0;  ///< relative slow-down of attention through a block table
    bool graphs = true;               ///< kernels are launched from a graph at decode
};

/// One serving stack at one version (`engines/`).
struct Engine {
    std::string name;
    std::string title;
    std::string version;
    std::string since;  ///< the first version that accounts for memory in this way
    std::string file;
    std::vector<Source> sources;
    EngineMemory memory;
    EngineScheduler scheduler;
    EngineTime time;
};

}  // namespace headroom
