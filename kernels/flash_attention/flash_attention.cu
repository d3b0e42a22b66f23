// SPDX-License-Identifier: Apache-2.0
#include "common/error.h"
#include "flash_attention/flash_attention.h"
#include "flash_attention/flash_kernel.cuh"

#include <algorithm>

namespace headroom::kernels {

namespace {

template <int D, bool Large>
bool fits() {
    return static_cast<std::size_t>(FlashTile<D, Large>::kSharedBytes) + 1024 <=
           device_info().shared_bytes_per_block;
}

// Query heads that run side by side. Causal rows are of unequal length and even out better over more heads:
// as many as have their keys and values in about half of the L2, in whole groups.
int side_by_side(const AttentionShape& shape) {
    if (!shape.causal) return 1;
    const auto kv_bytes =
        static_cast<std::size_t>(shape.context) * static_cast<std::size_t>(shape.head_dim) * 4;
    const auto kv_heads =
        static_cast<int>(std::clamp<std::size_t>(device_info().l2_bytes / 2 / kv_bytes, 1, 4096));
    const int group = shape.query_heads / shape.kv_heads;
    return std::min(kv_heads * group, shape.batch * shape.query_heads);
}

template <class T, class Tile, int D, bool Causal>
void launch(const AttentionShape& shape, const FlashParameters& parameters, Stream stream) {
    static const bool raised = [] {
        HEADROOM_CUDA(cudaFuncSetAttribute(flash_kernel<T, Tile, D, Causal>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes));
        return true;
    }();
    static_cast<void>(raised);
    FlashParameters p = parameters;
    p.all_heads = shape.batch * shape.query_heads;
    p.heads_per_group = side_by_side(shape);
    p.row_blocks = (shape.query_tokens + Tile::kRows - 1) / Tile::kRows;
    flash_kernel<T, Tile, D, Causal><<<static_cast<unsigned>(p.all_heads * p.row_blocks), Tile::kWarps * 32,
                                       Tile::kSharedBytes, stream>>>(p);
    HEADROOM_CUDA(cudaGetLastError());
}

template <class T, int D, bool Causal>
void launch_sized(const AttentionShape& shape, const FlashParameters& parameters, Stream stream) {
    if constexpr (D == 256) {
        if (fits<D, true>()) return launch<T, FlashTile<D, true>, D, Causal>(shape, parameters, stream);
    }
    HEADROOM_REQUIRE((fits<D, false>()),
                     "flash attention: this head dimension needs more shared memory than the device has");
    launch<T, FlashTile<D, false>, D, Causal>(shape, parameters, stream);
}

template <class T, int D>
void launch_masked(const AttentionShape& shape, const FlashParameters& parameters, Stream stream) {
    return shape.causal ? launch_sized<T, D, true>(shape, parameters, stream)
                        : launch_sized<T, D, false>(shape, parameters, stream);
}

template <class T>
void launch_typed(const AttentionShape& shape, const FlashParameters& parameters, Stream stream) {
    switch (shape.head_dim) {
        case 64:
            return launch_masked<T, 64>(shape, parameters, stream);
        case 128:
            return launch_masked<T, 128>(shape, parameters, stream);
        case 256:
            return launch_masked<T, 256>(shape, parameters, stream);
        default:
            HEADROOM_REQUIRE(false, "flash attention: the head dimension is not 64, 128 or 256");
    }
}

}  // namespace

void flash_attention(const AttentionShape& shape, const void* query, const void* keys, const void* values,
                     void* output, float scale, Stream stream) {
    HEADROOM_REQUIRE(shape.batch > 0 && shape.query_tokens > 0 && shape.context > 0,
                     "flash attention: empty shape");
    HEADROOM_REQUIRE(shape.kv_heads > 0 && shape.query_heads % shape.kv_heads == 0,
                     "flash attention: query heads are not a multiple of the KV heads");
    HEADROOM_REQUIRE(!shape.causal || shape.context >= shape.query_tokens,
                     "flash attention: a causal context is shorter than its queries");
    const FlashParameters parameters{query,
                                     keys,
                                     values,
                                     output,
                                     scale * 1.4426950408889634f,
                                     shape.query_heads,
                                     shape.kv_heads,
                                     shape.query_tokens,
                                     shape.context,
                                     0,
                                     0,
                                     0};
    switch (shape.dtype) {
        case DType::kBf16:
            return launch_typed<__nv_bfloat16>(shape, parameters, stream);
        case DType::kFp16:
            return launch_typed<__half>(shape, parameters, stream);
        default:
            HEADROOM_REQUIRE(false, "flash attention: the type is not bf16 or fp16");
    }
}

}  // namespace headroom::kernels
