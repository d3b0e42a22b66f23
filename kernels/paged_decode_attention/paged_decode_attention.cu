// SPDX-License-Identifier: Apache-2.0
#include "decode_attention/decode_kernel.cuh"
#include "paged_decode_attention/paged_decode_attention.h"

namespace headroom::kernels {

namespace {

struct PagedAddress {
    const void* keys;
    const void* values;
    std::int64_t block_stride, head_stride, token_stride;
    const int* table;
    int table_stride, block_tokens;

    __device__ std::uint32_t offset(int sequence, int head, int token) const {
        const int block = table[std::int64_t(sequence) * table_stride + token / block_tokens];
        return static_cast<std::uint32_t>(
            (block * block_stride + head * head_stride + (token % block_tokens) * token_stride) /
            kOffsetUnit);
    }
};

}  // namespace

void paged_decode_attention(const DecodePlan& plan, const void* query, const PagedCache& cache, void* output,
                            float scale, Stream stream) {
    const auto& strides = cache.strides;
    HEADROOM_REQUIRE(strides.outer % kOffsetUnit == 0 && strides.head % kOffsetUnit == 0 &&
                         strides.token % kOffsetUnit == 0,
                     "paged decode attention: a cache stride is not a multiple of 64 elements");
    HEADROOM_REQUIRE(cache.block_tokens >= 8 && cache.block_tokens % 8 == 0,
                     "paged decode attention: the block is not a multiple of 8 tokens");
    launch_decode(plan, query,
                  PagedAddress{cache.keys, cache.values, strides.outer, strides.head, strides.token,
                               cache.block_table, cache.table_stride, cache.block_tokens},
                  output, scale, stream);
}

}  // namespace headroom::kernels
