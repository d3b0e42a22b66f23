// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"

namespace headroom::kernels {

// y[tokens][hidden] = act(x up^T) down^T, x [tokens][hidden], up [inner][hidden], down [hidden][inner], all
// bf16; act is GELU, or, gated, (x up^T) silu(x gate^T). Both widths are multiples of 8.
class FeedForward {
  public:
    // `fused`: the activation works on the sums of the products before it. Otherwise it is a kernel of its
    // own.
    FeedForward(int tokens, int hidden, int inner, bool gated, bool fused);

    struct Weights {
        const void* up;
        const void* gate;  // looked at if gated
        const void* down;
    };
    void run(const void* x, const Weights& weights, void* y, Stream stream) const;

  private:
    int tokens_, hidden_, inner_;
    bool gated_, fused_;
    DeviceBuffer up_, gate_, activated_;
};

}  // namespace headroom::kernels
