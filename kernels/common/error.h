// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace headroom::kernels {

// Any failure of the CUDA runtime, cuBLASLt or a kernel's own preconditions on this device.
class DeviceError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

namespace detail {
[[noreturn]] void fail(const std::string& what, const char* file, int line);
void check_cuda(int status, const char* expression, const char* file, int line);
void check_cublas(int status, const char* expression, const char* file, int line);
}  // namespace detail

}  // namespace headroom::kernels

// Macros only because the message names the call and its place.
#define HEADROOM_CUDA(call) \
    ::headroom::kernels::detail::check_cuda(static_cast<int>(call), #call, __FILE__, __LINE__)
#define HEADROOM_CUBLAS(call) \
    ::headroom::kernels::detail::check_cublas(static_cast<int>(call), #call, __FILE__, __LINE__)
#define HEADROOM_REQUIRE(condition, message)                                              \
    do {                                                                                  \
        if (!(condition)) ::headroom::kernels::detail::fail(message, __FILE__, __LINE__); \
    } while (false)
