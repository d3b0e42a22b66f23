// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/matmul.h"
#include "flash_attention/flash_attention.h"
#include "standard_attention/softmax.h"

namespace headroom::kernels {

// The textbook form with the scores in device memory: Q K^T, softmax, P V, each its own kernel. Same tensors
// as flash_attention; any head_dim that is a multiple of 8. Holds the scores: 2 bytes for each query head,
// query token and context token (the row rounded up to 8).
class StandardAttention {
  public:
    explicit StandardAttention(const AttentionShape& shape);

    // Picks the fastest products for these operands; overwrites `output`.
    void tune(const void* query, const void* keys, const void* values, void* output, float scale);
    void run(const void* query, const void* keys, const void* values, void* output, float scale,
             Stream stream) const;

    // The three steps of run(), for timing them alone.
    void multiply_keys(const void* query, const void* keys, float scale, Stream stream) const;
    void normalise(Stream stream) const;
    void multiply_values(const void* values, void* output, Stream stream) const;

  private:
    AttentionShape shape_;
    SoftmaxShape softmax_;
    DeviceBuffer scores_;
    Matmul key_product_, value_product_;
};

}  // namespace headroom::kernels
