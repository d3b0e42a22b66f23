// SPDX-License-Identifier: Apache-2.0
#include "common/error.h"
#include "flash_attention/flash_attention.h"
#include "flash_attention/flash_kernel.cuh"
#include "flash_attention/flash_pair_kernel.cuh"

namespace headroom::kernels {

namespace {

template <int D, bool Large>
bool fits() {
    return static_cast<std::size_t>(FlashTile<D, Large>::kSharedBytes) + 2048 <=
           device_info().shared_bytes_per_block;
}

using Kernel = void (*)(FlashParameters);

template <class Tile>
void enqueue(Kernel kernel, const AttentionShape& shape, const FlashParameters& parameters, Stream stream) {
    const dim3 grid(static_cast<unsigned>((shape.query_tokens + Tile::kRows - 1) / Tile::kRows),
                    static_cast<unsigned>(shape.query_heads), static_cast<unsigned>(shape.batch));
    kernel<<<grid, Tile::kWarps * 32, Tile::kSharedBytes, stream>>>(parameters);
    HEADROOM_CUDA(cudaGetLastError());
}

Kernel with_shared_memory(Kernel kernel, int bytes) {
    HEADROOM_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    return kernel;
}

template <class T, class Tile, int D, bool Causal>
void launch(const AttentionShape& shape, const FlashParameters& parameters, Stream stream) {
    if constexpr (Tile::kPaired) {
        static const Kernel pair =
            with_shared_memory(flash_pair_kernel<T, Tile, D, Causal>, Tile::kSharedBytes);
        enqueue<Tile>(pair, shape, parameters, stream);
    } else {
        static const Kernel plain = with_shared_memory(flash_kernel<T, Tile, D, Causal>, Tile::kSharedBytes);
        enqueue<Tile>(plain, shape, parameters, stream);
    }
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
                                     shape.context};
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
