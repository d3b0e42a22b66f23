// SPDX-License-Identifier: Apache-2.0
#include "common/error.h"
#include "common/random.h"

#include <algorithm>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

namespace headroom::kernels {

namespace {

// The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
__device__ std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

template <class T>
__device__ T round_to(float value) {
    return T(value);
}
template <>
__device__ signed char round_to<signed char>(float value) {
    return static_cast<signed char>(fminf(fmaxf(rintf(value), -127.0f), 127.0f));
}

template <class T>
__global__ void fill_normal_kernel(T* out, std::size_t count, float deviation, std::uint64_t seed) {
    const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
    for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        const std::uint64_t bits = mix(seed * 0x2545f4914f6cdd1dull + i);
        const float u = (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f;
        const float v = static_cast<float>((bits >> 8) & 0xffffff) * 0x1p-24f;
        out[i] = round_to<T>(deviation * sqrtf(-2.0f * __logf(u)) * __cosf(6.28318531f * v));
    }
}

template <class T>
void launch_fill(void* device, std::size_t count, float deviation, std::uint64_t seed, Stream stream) {
    fill_normal_kernel<T><<<device_info().multiprocessors * 8, 256, 0, stream>>>(static_cast<T*>(device),
                                                                                 count, deviation, seed);
    HEADROOM_CUDA(cudaGetLastError());
}

template <class T>
std::vector<double> read_as(const void* device, std::size_t offset, std::size_t count) {
    std::vector<T> raw(count);
    copy_to_host(raw.data(), static_cast<const T*>(device) + offset, count * sizeof(T));
    std::vector<double> values(count);
    std::transform(raw.begin(), raw.end(), values.begin(),
                   [](T x) { return static_cast<double>(static_cast<float>(x)); });
    return values;
}

}  // namespace

void fill_normal(void* device, std::size_t count, DType type, float deviation, std::uint64_t seed,
                 Stream stream) {
    if (count == 0) return;
    switch (type) {
        case DType::kBf16:
            return launch_fill<__nv_bfloat16>(device, count, deviation, seed, stream);
        case DType::kFp16:
            return launch_fill<__half>(device, count, deviation, seed, stream);
        case DType::kFp8E4M3:
            return launch_fill<__nv_fp8_e4m3>(device, count, deviation, seed, stream);
        case DType::kInt8:
            return launch_fill<signed char>(device, count, deviation, seed, stream);
        case DType::kFp32:
            return launch_fill<float>(device, count, deviation, seed, stream);
    }
}

void poison(void* device, std::size_t bytes, Stream stream) {
    HEADROOM_CUDA(cudaMemsetAsync(device, 0xff, bytes, stream));
}

std::vector<double> read_values(const void* device, std::size_t offset, std::size_t count, DType type) {
    switch (type) {
        case DType::kBf16:
            return read_as<__nv_bfloat16>(device, offset, count);
        case DType::kFp16:
            return read_as<__half>(device, offset, count);
        case DType::kFp8E4M3:
            return read_as<__nv_fp8_e4m3>(device, offset, count);
        case DType::kInt8:
            return read_as<signed char>(device, offset, count);
        case DType::kFp32:
            return read_as<float>(device, offset, count);
    }
    return {};
}

}  // namespace headroom::kernels
