// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headroom::kernels {

__device__ inline std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// What is read once leaves the L2 first, so that it does not push out what will be read again.
enum class Reuse { kOnce, kMany };

// 16 bytes from global to shared memory, past L1; zeros when `valid` is false (the source is then not read).
template <Reuse R>
__device__ void copy_16_async(std::uint32_t shared, const void* global, bool valid) {
    const int bytes = valid ? 16 : 0;
    if constexpr (R == Reuse::kOnce) {
        std::uint64_t policy;
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        asm volatile(
            "cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2, %3;" ::"r"(shared),
            "l"(global), "r"(bytes), "l"(policy)
            : "memory");
    } else {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
                     "r"(bytes)
                     : "memory");
    }
}

__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int Pending>
__device__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// Byte offset of a 16-byte chunk in a tile of rows of `Chunks` chunks (a multiple of 8): the exclusive or
// spreads the eight rows that one ldmatrix reads over all 32 banks.
template <int Chunks>
__device__ constexpr std::uint32_t swizzled(int row, int chunk) {
    static_assert(Chunks % 8 == 0);
    return static_cast<std::uint32_t>((row * Chunks + (chunk ^ (row & 7))) * 16);
}

}  // namespace headroom::kernels
