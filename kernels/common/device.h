// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// The runtime's own stream handle, declared here so that a host file needs no CUDA header.
struct CUstream_st;

namespace headroom::kernels {

using Stream = CUstream_st*;

// What the kernels and their planners need to know of the current device.
struct DeviceInfo {
    std::string name;
    int compute_major = 0;
    int compute_minor = 0;
    int multiprocessors = 0;
    std::size_t memory_bytes = 0;
    std::size_t l2_bytes = 0;
    std::size_t shared_bytes_per_block = 0;           // after opting in
    std::size_t shared_bytes_per_multiprocessor = 0;  // 1 KiB of it is reserved per resident block
    int runtime_version = 0;                          // 13000 is CUDA 13.0
    int driver_cuda_version = 0;

    int compute() const { return compute_major * 10 + compute_minor; }
};

// False when there is no driver or no device. Never throws.
bool device_available();

// The current device, read once per process. Throws DeviceError where there is none.
const DeviceInfo& device_info();

// Owns a stream that does not synchronise with the default one.
class OwnedStream {
  public:
    OwnedStream();
    ~OwnedStream();
    OwnedStream(const OwnedStream&) = delete;
    OwnedStream& operator=(const OwnedStream&) = delete;
    operator Stream() const { return stream_; }
    void synchronize() const;

  private:
    Stream stream_ = nullptr;
};

// Owns `bytes()` of device memory from a plain allocation (256-byte aligned).
class DeviceBuffer {
  public:
    DeviceBuffer() = default;
    explicit DeviceBuffer(std::size_t bytes);
    ~DeviceBuffer();
    DeviceBuffer(DeviceBuffer&& other) noexcept;
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// Blocking copies; `offset` and sizes in bytes.
void copy_to_device(void* device, const void* host, std::size_t bytes);
void copy_to_host(void* host, const void* device, std::size_t bytes);

template <class T>
DeviceBuffer upload(const std::vector<T>& host) {
    DeviceBuffer buffer(host.size() * sizeof(T));
    copy_to_device(buffer.data(), host.data(), buffer.bytes());
    return buffer;
}

}  // namespace headroom::kernels
