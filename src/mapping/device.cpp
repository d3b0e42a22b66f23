// SPDX-License-Identifier: Apache-2.0
#include "mapping/device.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

// 32 banks of 4 bytes a clock and SM (CUDA C++ Programming Guide, shared memory).
constexpr Bytes kSramPerClock{128};
// One SM's port takes 64 bytes a clock at most; public latency and bandwidth studies of A100 and H100 reach
// about half of that from memory.
constexpr Bytes kPortPerClock{64};
constexpr double kPortShare = 0.5;

std::int64_t whole_bytes(const std::optional<Fact<Bytes>>& fact) {
    return fact ? static_cast<std::int64_t>(fact->value.base()) : 0;
}

// Decode tables show that an array of three quarters of L2 is found again and one of more is not
// (perf/attention_time.cpp, l2_decode).
constexpr double kL2Kept = 0.75;

}  // namespace

FlopRate MappingDevice::matrix(ElementType type) const {
    const auto peak = dense_peak(hardware, type);
    return peak ? peak->rate : FlopRate{};
}

MappingDevice mapping_device(const Hardware& h) {
    const Ceilings reach = ceilings_of(h);
    MappingDevice d;
    d.name = h.name;
    d.sms = std::max<std::int64_t>(1, static_cast<std::int64_t>(h.compute.sms.value));
    d.hbm_bytes = static_cast<std::int64_t>(h.memory.capacity.value.base());
    d.l2_bytes = whole_bytes(h.memory.l2);
    d.l2_kept = kL2Kept;
    if (h.generation.l2_copies) d.l2_copies = static_cast<std::int64_t>(h.generation.l2_copies->value);
    // Blocks of a kernel of products; even between 1 - jitter and 1 + jitter (bundled_ceilings.h).
    d.uneven = reach.bundled.flash.jitter / std::sqrt(3.0);
    d.sram_per_sm_bytes = whole_bytes(h.compute.sram_per_sm);
    d.sram_per_block_bytes = whole_bytes(h.compute.sram_per_block);
    d.registers_per_sm_bytes = whole_bytes(h.compute.registers_per_sm);
    d.hbm = h.memory.bandwidth.value;
    d.hbm_share = reach.memory;
    d.hbm_per_sm = kPortShare * kPortPerClock * h.compute.clock.value;
    d.l2_per_sm = reach.product[static_cast<std::size_t>(ProductKind::Half)].tile_load;
    if (d.l2_per_sm <= Bandwidth{}) d.l2_per_sm = kPortPerClock * h.compute.clock.value;
    d.sram_per_sm = kSramPerClock * h.compute.clock.value;
    d.matrix_share = reach.product[static_cast<std::size_t>(ProductKind::Half)].matrix;
    d.launch = reach.stream.launch;
    d.hardware = h;
    d.vector = d.matrix(ElementType::fp32);
    return d;
}

}  // namespace headroom
