// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"
#include "common/dtype.h"

namespace headroom::kernels {

// query, output: [batch][query_head][query_tokens][head_dim]; keys, values:
// [batch][kv_head][context][head_dim]; dense, bf16 or fp16. With `causal`, query i sees keys 0 .. i + context
// - query_tokens (the queries are the last tokens of the context).
struct AttentionShape {
    int batch = 1;
    int query_heads = 0;
    int kv_heads = 0;  // divides query_heads
    int query_tokens = 0;
    int context = 0;
    int head_dim = 0;
    DType dtype = DType::kBf16;
    bool causal = false;
};

// One fused kernel; scores never leave the multiprocessor. head_dim 64, 128 or 256.
void flash_attention(const AttentionShape& shape, const void* query, const void* keys, const void* values,
                     void* output, float scale, Stream stream);

}  // namespace headroom::kernels
