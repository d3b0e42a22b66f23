// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"

namespace headroom::kernels {

// loss[token] = log(sum of exp(logits)) - logits[target], logits = x[tokens][hidden] w[vocabulary][hidden]^T;
// x and w bf16, loss fp32, targets 4-byte integers below `vocabulary`. `hidden` is a multiple of 8.
class CrossEntropy {
  public:
    // `fused`: logits stay on the chip, blocks leave three numbers for each token and part of the vocabulary
    // and a second kernel puts them together. Otherwise logits are written as bf16 and read once.
    CrossEntropy(int tokens, int hidden, int vocabulary, bool fused);

    void run(const void* x, const void* w, const int* targets, float* loss, Stream stream) const;

  private:
    int tokens_, hidden_, vocabulary_, stride_;
    bool fused_;
    DeviceBuffer scratch_;  // logits, or the parts' maxima, sums and target logits
};

}  // namespace headroom::kernels
