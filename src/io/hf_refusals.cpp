// SPDX-License-Identifier: Apache-2.0
#include "io/hf_family.h"

#include <array>

namespace headroom {
namespace {

constexpr std::array kRefusals{
    HfRefusal{"t5", "encoder-decoder models are not modelled, only decoders"},
    HfRefusal{"bart", "encoder-decoder models are not modelled, only decoders"},
    HfRefusal{"whisper", "encoder-decoder models are not modelled, only decoders"},
    HfRefusal{"bert", "an encoder generates no tokens; only decoders are modelled"},
    HfRefusal{"rwkv", "RWKV's time mixing is none of the attention kinds that are modelled"},
    HfRefusal{"rwkv5", "RWKV's time mixing is none of the attention kinds that are modelled"},
};

}  // namespace

std::span<const HfRefusal> hf_refusals() { return kRefusals; }

}  // namespace headroom
