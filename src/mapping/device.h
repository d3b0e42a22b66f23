// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/hardware.h"

#include <cstdint>
#include <optional>
#include <string>

namespace headroom {

/// What the analysis needs to know of a device. A capacity of 0 is not known and never binds.
struct MappingDevice {
    std::string name;
    std::int64_t sms = 1;
    std::int64_t hbm_bytes = 0;
    std::int64_t l2_bytes = 0;
    double l2_kept = 1;          ///< share of it that a kernel finds of what the one before has touched
    std::int64_t l2_copies = 1;  ///< that it holds of what many SMs read
    double uneven = 0;           ///< standard deviation of the time of equal blocks, over that time
    std::int64_t sram_per_sm_bytes = 0;
    std::int64_t sram_per_block_bytes = 0;
    std::int64_t registers_per_sm_bytes = 0;
    Bandwidth hbm;         ///< datasheet
    double hbm_share = 1;  ///< of it that is reached
    Bandwidth hbm_per_sm;  ///< that one SM draws at most
    Bandwidth l2_per_sm;   ///< operands that one SM takes in, as fitted to products
    Bandwidth sram_per_sm;
    FlopRate vector;          ///< fp32, all SMs
    double matrix_share = 1;  ///< of the dense peak that a full machine reaches
    Seconds launch;           ///< from one kernel to the next
    Hardware hardware;

    FlopRate matrix(ElementType type) const;
};

MappingDevice mapping_device(const Hardware& hardware);

}  // namespace headroom
