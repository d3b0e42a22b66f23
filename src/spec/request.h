// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace headroom {

/// One request as it arrives. Token counts are what the tokenizer gave, special tokens included.
struct Request {
    Seconds arrival;  ///< since the first request
    std::int64_t input_tokens = 0;
    std::int64_t output_tokens = 0;  ///< per sample or beam
    int samples = 1;                 ///< sequences generated from the one prompt
    bool beam = false;               ///< the samples are beams: they fork and die together
    std::int64_t session = -1;       ///< conversation; -1: none known
    std::int64_t parent = -1;        ///< request or turn that this one continues; -1: none known
    /// One hash for every `prefix_block` tokens of the prompt, each standing for everything up to its end
    /// (equal hashes mean equal prefixes). The last one may stand for a part of a block. Empty: not known.
    std::vector<std::uint64_t> prefix;
    int prefix_block = 0;
};

/// Fills in the next request in order of arrival and returns true, or returns false at the end. The request
/// is the caller's and is used again for the next one, so that its memory is too.
using RequestSource = std::function<bool(Request&)>;

}  // namespace headroom
