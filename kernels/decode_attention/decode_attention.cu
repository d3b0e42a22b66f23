// SPDX-License-Identifier: Apache-2.0
#include "decode_attention/decode_attention.h"
#include "decode_attention/decode_kernel.cuh"

namespace headroom::kernels {

namespace {

struct ContiguousAddress {
    const void* keys;
    const void* values;
    std::int64_t sequence_stride, head_stride, token_stride;

    __device__ std::uint32_t offset(int sequence, int head, int token) const {
        return static_cast<std::uint32_t>(
            (sequence * sequence_stride + head * head_stride + token * token_stride) / kOffsetUnit);
    }
};

}  // namespace

void decode_attention(const DecodePlan& plan, const void* query, const ContiguousCache& cache, void* output,
                      float scale, Stream stream) {
    const auto& strides = cache.strides;
    HEADROOM_REQUIRE(strides.outer % kOffsetUnit == 0 && strides.head % kOffsetUnit == 0 &&
                         strides.token % kOffsetUnit == 0,
                     "decode attention: a cache stride is not a multiple of 64 elements");
    launch_decode(plan, query,
                  ContiguousAddress{cache.keys, cache.values, strides.outer, strides.head, strides.token},
                  output, scale, stream);
}

}  // namespace headroom::kernels
