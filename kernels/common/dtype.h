// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace headroom::kernels {

enum class DType { kBf16, kFp16, kFp8E4M3, kInt8, kFp32 };

constexpr std::size_t size_of(DType type) {
    switch (type) {
        case DType::kBf16:
        case DType::kFp16:
            return 2;
        case DType::kFp8E4M3:
        case DType::kInt8:
            return 1;
        case DType::kFp32:
            return 4;
    }
    return 0;
}

constexpr const char* name_of(DType type) {
    switch (type) {
        case DType::kBf16:
            return "bf16";
        case DType::kFp16:
            return "fp16";
        case DType::kFp8E4M3:
            return "fp8";
        case DType::kInt8:
            return "int8";
        case DType::kFp32:
            return "fp32";
    }
    return "?";
}

}  // namespace headroom::kernels
