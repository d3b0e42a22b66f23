// SPDX-License-Identifier: Apache-2.0
#include "common/error.h"

#include <cublasLt.h>
#include <cuda_runtime.h>

namespace headroom::kernels::detail {

namespace {
std::string place(const char* file, int line) {
    const std::string path = file;
    const auto slash = path.find_last_of('/');
    return " (" + (slash == std::string::npos ? path : path.substr(slash + 1)) + ":" + std::to_string(line) +
           ")";
}
}  // namespace

void fail(const std::string& what, const char* file, int line) {
    throw DeviceError(what + place(file, line));
}

void check_cuda(int status, const char* expression, const char* file, int line) {
    if (status == cudaSuccess) return;
    const auto error = static_cast<cudaError_t>(status);
    throw DeviceError(std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error) + " in " +
                      expression + place(file, line));
}

void check_cublas(int status, const char* expression, const char* file, int line) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw DeviceError("cuBLASLt status " + std::to_string(status) + " in " + expression + place(file, line));
}

}  // namespace headroom::kernels::detail
