// SPDX-License-Identifier: Apache-2.0
#include "common/device.h"

#include "common/error.h"

#include <utility>

#include <cuda_runtime.h>

namespace headroom::kernels {

bool device_available() {
    int count = 0;
    const bool found = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
    cudaGetLastError();
    return found;
}

const DeviceInfo& device_info() {
    static const DeviceInfo info = [] {
        int device = 0;
        HEADROOM_CUDA(cudaGetDevice(&device));
        cudaDeviceProp properties{};
        HEADROOM_CUDA(cudaGetDeviceProperties(&properties, device));
        DeviceInfo result;
        result.name = properties.name;
        result.compute_major = properties.major;
        result.compute_minor = properties.minor;
        result.multiprocessors = properties.multiProcessorCount;
        result.memory_bytes = properties.totalGlobalMem;
        result.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
        result.shared_bytes_per_block = properties.sharedMemPerBlockOptin;
        result.shared_bytes_per_multiprocessor = properties.sharedMemPerMultiprocessor;
        HEADROOM_CUDA(cudaRuntimeGetVersion(&result.runtime_version));
        HEADROOM_CUDA(cudaDriverGetVersion(&result.driver_cuda_version));
        return result;
    }();
    return info;
}

OwnedStream::OwnedStream() { HEADROOM_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
OwnedStream::~OwnedStream() { cudaStreamDestroy(stream_); }
void OwnedStream::synchronize() const { HEADROOM_CUDA(cudaStreamSynchronize(stream_)); }

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes > 0) HEADROOM_CUDA(cudaMalloc(&data_, bytes));
}
DeviceBuffer::~DeviceBuffer() { cudaFree(data_); }
DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

void copy_to_device(void* device, const void* host, std::size_t bytes) {
    HEADROOM_CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
}
void copy_to_host(void* host, const void* device, std::size_t bytes) {
    HEADROOM_CUDA(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

}  // namespace headroom::kernels
