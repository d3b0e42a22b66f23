// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/matmul.h"
#include "flash_attention/flash_attention.h"
#include "standard_attention/softmax.h"

namespace headroom::kernels {

// The textbook form with the scores in device memory: Q K^T, softmax, P V, each its own kernel. Same tensors
// as flash_attention; any head_dim that is a multiple of 8. Holds the scores: 2 bytes for each query head,
// query token and context token (the row rounded up to 8). Where the context is no multiple of 8 it also
// holds K and V with as many rows of zeros, and copies them first: the library's products of other sizes take
// two to three times as long.
class StandardAttention {
  public:
    explicit StandardAttention(const AttentionShape& shape);

    // Picks the fastest products for these operands; overwrites `output`.
    void tune(const void* query, const void* keys, const void* values, void* output, float scale);
    void run(const void* query, const void* keys, const void* values, void* output, float scale,
             Stream stream) const;

  private:
    // What the products read: `source` itself, or its copy in `padded`.
    const void* with_whole_rows(const DeviceBuffer& padded, const void* source, Stream stream) const;
    void normalise(Stream stream) const;

    AttentionShape shape_;
    SoftmaxShape softmax_;
    DeviceBuffer scores_, padded_keys_, padded_values_;
    Matmul key_product_, value_product_;
};

}  // namespace headroom::kernels
