// SPDX-License-Identifier: Apache-2.0
#include "ceilings/ceilings.h"
#include "common/async_copy.cuh"
#include "common/error.h"

namespace headroom::kernels {

namespace {

constexpr int kThreads = 1024;
constexpr int kReads = 16;  // per round and thread, 16 bytes each

// Consecutive lanes read consecutive 16 bytes: no bank conflicts. 32 KiB, walked with a wrap.
__global__ void __launch_bounds__(kThreads) read_shared_kernel(int rounds, unsigned* sink) {
    __shared__ uint4 data[2 * kThreads];
    data[threadIdx.x] = make_uint4(threadIdx.x, 1, 2, 3);
    data[threadIdx.x + kThreads] = make_uint4(threadIdx.x, 3, 2, 1);
    __syncthreads();
    const std::uint32_t base = shared_address(data + threadIdx.x);
    unsigned folded = 0;
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < kReads; ++i) {
            unsigned x, y, z, w;
            asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                         : "r"(base + (i & 1) * kThreads * 16));
            folded ^= x ^ y ^ z ^ w;
        }
    }
    if (folded == 0x9e3779b9u) *sink = folded;
}

}  // namespace

double read_shared(int rounds, unsigned* sink, Stream stream) {
    const int blocks = 2 * device_info().multiprocessors;
    read_shared_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(rounds, sink);
    HEADROOM_CUDA(cudaGetLastError());
    return 16.0 * kReads * rounds * kThreads * blocks;
}

}  // namespace headroom::kernels
