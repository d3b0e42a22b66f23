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

void overlay(Ceilings& ceilings, const MeasuredCeilings& from,
             const std::optional<Peaks>& measured_on = std::nullopt) {
    for (const auto& [name, fact] : from.values) {
        const CeilingParameter* p = find_ceiling(name);
        if (p == nullptr) continue;
        p->set(ceilings, measured_on ? carried(*p, fact.value, *measured_on, ceilings.peaks) : fact.value);
    }
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

Peaks peaks_of(const Hardware& hardware) {
    const auto peak = [&](ElementType type) { return dense_peak(hardware, type).value_or(Peak{}).rate; };
    Peaks p;
    p.memory = hardware.memory.bandwidth.value;
    if (hardware.memory.l2) p.l2 = hardware.memory.l2->value;
    p.sms = static_cast<int>(hardware.compute.sms.value);
    p.clock = hardware.compute.clock.value;
    p.matrix16 = peak(ElementType::bf16);
    p.matrix8 = max(p.matrix16, peak(ElementType::fp8));
    p.matrix4 = max(p.matrix8, peak(ElementType::fp4));
    if (hardware.scale_up)
        p.link = hardware.scale_up->per_direction.value;
    else if (hardware.pcie)
        p.link = hardware.pcie->per_direction.value;
    return p;
}

Ceilings ceilings_of(const Hardware& hardware) {
    Ceilings c;
    c.peaks = peaks_of(hardware);
    overlay(c, hardware.generation.kernels, hardware.generation.measured_on);
    overlay(c, hardware.generation.own);
    overlay(c, hardware.ceilings);
    return c;
}

}  // namespace headroom
