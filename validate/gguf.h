// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/model.h"

#include <string>

namespace headroom {

/// The quantization that llama.cpp names in a text: "llama 8B Q4_K - Medium" is "Q4_K_M"; "" for none known
/// here.
std::string gguf_type(const std::string& text);

/// Bits per weight of a GGUF block format, scales included ("Q4_K": 144 bytes per 256 weights); 0: unknown.
double gguf_bits(const std::string& block);

/// The model as llama.cpp's quantizer of 2024 stores it: a mixture such as Q4_K_M keeps the head, and values
/// and down projections of about half the layers, at more bits; here each role has the mean of its matrices.
/// InputError for a type that is not known.
Model with_gguf(Model model, const std::string& type);

}  // namespace headroom
