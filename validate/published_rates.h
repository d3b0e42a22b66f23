// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "perf/step_time.h"
#include "validate/compare.h"

#include <string>

namespace headroom {

/// How fast llama.cpp (2024, without flash attention) decodes one sequence:
///   t = layers * per_layer + weights / min(memory_share * bandwidth, per_clock * SMs * clock)
///       + kv / (attention_share * bandwidth)
/// A launch-bound part per layer; matrix-vector kernels that reach a share of the bandwidth or, where the
/// device has much of it per SM, what an SM takes in; and attention.
struct SingleStreamLaw {
    Seconds per_layer;
    double memory_share = 1;
    double per_clock = 0;  ///< bytes per clock and SM
    double attention_share = 1;
    double spread = 1;  ///< factor either way that holds nine in ten of the fitted rows
};
/// Fitted to Llama-3-8B on one GPU; other models and several GPUs are what docs/accuracy.md reports.
SingleStreamLaw llama_cpp_law();

/// One token after `context` cached ones. The floor is the device's.
TimeEstimate single_stream_time(const SingleStreamLaw& law, const Model& model, const Shard& parts,
                                const Hardware& hardware, const Engine& ideal, double context);

/// Prompts of llama.cpp: its kernels (8-bit integers, 16-bit sums) have no model here. The floor is what no
/// kernel beats: the bytes of each step, or its operations at the device's fastest dense rate, with all
/// pipeline stages busy at once.
TimeEstimate llama_cpp_prompt(const Shard& parts, const Hardware& hardware, const Engine& ideal,
                              double prompt, double cached, double micro_batch);
inline constexpr const char* kPromptsNotModelled =
    "only held against its floor: llama.cpp's prompt kernels have no model here";

/// Published rates, one JSON object a line: decoding or prefill of a single request (`decode_single_stream`,
/// `prefill`) and offline throughput (`serving_throughput`). Rows faster than the floor are refused; rows
/// whose model, device or engine has no profile are named in the notes. False when the text is something
/// else.
bool add_published_rates(ValidateAnswer& answer, const std::string& text, const std::string& file,
                         const Profiles& profiles);

}  // namespace headroom
