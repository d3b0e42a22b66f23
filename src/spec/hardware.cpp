// SPDX-License-Identifier: Apache-2.0
#include "spec/hardware.h"

#include <span>

namespace headroom {
namespace {

// What a device computes in when it has no unit for a type: the next wider type that holds its values.
std::span<const ElementType> stand_ins(ElementType type) {
    using enum ElementType;
    static constexpr std::array kFp4{fp4, fp8, bf16, fp16, fp32}, kFp6{fp6, fp8, bf16, fp16, fp32};
    static constexpr std::array kInt4{int4, int8, bf16, fp16, fp32};
    static constexpr std::array kFp8{fp8, bf16, fp16, fp32}, kInt8{int8, bf16, fp16, fp32};
    static constexpr std::array kBf16{bf16, fp16, fp32}, kFp16{fp16, bf16, fp32};
    static constexpr std::array kTf32{tf32, fp32}, kFp32{fp32, fp64};
    static constexpr std::array kFp64{fp64};
    switch (type) {
        case fp4:
            return kFp4;
        case fp6:
            return kFp6;
        case int4:
            return kInt4;
        case fp8:
            return kFp8;
        case int8:
            return kInt8;
        case bf16:
            return kBf16;
        case fp16:
            return kFp16;
        case tf32:
            return kTf32;
        case fp32:
            return kFp32;
        case fp64:
            return kFp64;
    }
    return {};
}

}  // namespace

std::optional<Peak> dense_peak(const Hardware& hardware, ElementType wanted) {
    for (const ElementType type : stand_ins(wanted)) {
        const auto found = hardware.compute.dense.find(type);
        if (found != hardware.compute.dense.end()) return Peak{type, found->second.value};
    }
    return std::nullopt;
}

Intensity ridge_point(const Hardware& hardware, ElementType type) {
    const auto peak = dense_peak(hardware, type);
    return peak ? peak->rate / hardware.memory.bandwidth.value : Intensity{};
}

}  // namespace headroom
