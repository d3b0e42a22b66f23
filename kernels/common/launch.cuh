// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"
#include "common/error.h"

#include <cuda_runtime.h>

// Programmatic dependent launch (sm_90 on): a kernel's blocks may start, and read what no kernel writes,
// while the kernel before it in the stream finishes. On older devices the calls do nothing and kernels follow
// one another.

namespace headroom::kernels {

__device__ inline void allow_next_kernel() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Until the kernel before has finished and its writes are visible.
__device__ inline void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Launches a kernel that calls wait_for_previous_kernel before it reads or writes shared results.
template <class... Parameters, class... Arguments>
void launch_overlapped(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
                       Stream stream, const Arguments&... arguments) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = grid;
    configuration.blockDim = block;
    configuration.dynamicSmemBytes = shared_bytes;
    configuration.stream = stream;
    configuration.attrs = &attribute;
    configuration.numAttrs = device_info().compute() >= 90 ? 1 : 0;
    HEADROOM_CUDA(cudaLaunchKernelEx(&configuration, kernel, arguments...));
}

}  // namespace headroom::kernels
