// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_attention/decode_attention.h"

namespace headroom::kernels {

// A cache in blocks of `block_tokens` tokens, in any physical order; sequences may share blocks.
// Element (block, head, token in block, d) at outer*block + head*h + token*t + d.
struct PagedCache {
    const void* keys = nullptr;
    const void* values = nullptr;
    CacheStrides strides;
    const int* block_table = nullptr;  // [sequence][table_stride]: physical block of each logical one
    int table_stride = 0;
    int block_tokens = 0;  // a multiple of 8
};

// decode_attention through a block table: the same kernel with another address policy. Entries past a
// sequence's length are never read.
void paged_decode_attention(const DecodePlan& plan, const void* query, const PagedCache& cache, void* output,
                            float scale, Stream stream);

}  // namespace headroom::kernels
