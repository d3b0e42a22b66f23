// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/cache.h"
#include "mapping/device.h"

#include <array>
#include <string>
#include <vector>

namespace headroom {

/// What crosses a level's boundary on the side of the arithmetic: reads go towards it, writes come from it.
struct TensorTraffic {
    std::size_t tensor = 0;
    std::array<Moved, kMemoryLevels.size()> words{};  ///< by level
};

struct LevelTraffic {
    MemoryLevel level = MemoryLevel::hbm;
    std::int64_t reads_bytes = 0;
    std::int64_t writes_bytes = 0;
    /// HBM: tensors that live there. L2: what lives there and what the first wave of a kernel touches. SRAM
    /// and registers: of one block. The largest kernel counts.
    std::int64_t footprint_bytes = 0;
    std::int64_t capacity_bytes = 0;  ///< 0: not known
};

struct KernelAnalysis {
    std::string name;
    std::vector<TensorTraffic> tensors;
    std::int64_t product_flop = 0;           ///< of products
    std::int64_t vector_operations = 0;      ///< the next two included
    std::int64_t recomputed_operations = 0;  ///< because blocks repeat each other's work
    std::int64_t rescale_operations = 0;     ///< because partial results are corrected
    std::int64_t blocks = 1;
    std::int64_t blocks_per_sm = 1;
    std::int64_t waves = 1;
    std::int64_t waves_kept = 0;
    std::int64_t sram_bytes = 0;       ///< of one block
    std::int64_t registers_bytes = 0;  ///< of one block
    std::int64_t l2_footprint_bytes = 0;
    std::int64_t hbm_bytes = 0;
    std::int64_t l2_bytes = 0;
    std::int64_t sram_traffic_bytes = 0;
    bool fits = true;  ///< one block has room on an SM
    Seconds floor;
    Seconds expected;
    std::string bound;
};

struct Analysis {
    std::vector<KernelAnalysis> kernels;
    std::vector<TensorTraffic> tensors;  ///< of all kernels
    std::array<LevelTraffic, kMemoryLevels.size()> levels{};
    std::int64_t product_flop = 0;
    std::int64_t vector_operations = 0;
    std::int64_t recomputed_operations = 0;
    std::int64_t rescale_operations = 0;
    std::int64_t hbm_bytes = 0;
    std::int64_t compulsory_bytes = 0;  ///< inputs read once and results written once
    Seconds floor;                      ///< datasheet peaks, the best that L2 could do
    Seconds expected;
    std::string bound;  ///< memory, compute, l2, sram, vector or overhead: of the longest kernel
    bool fits = true;
};

/// FLOPs of the products of a computation, whatever its mapping.
std::int64_t product_flop(const Computation& computation);

/// Requires `mapping_faults` to be empty. Counts are exact; times are not.
Analysis analyse(const MappedComputation& nest, const MappingDevice& device);
Analysis analyse(const MappedComputation& nest, const NestPlan& plan, const MappingDevice& device);

/// One kernel of it, but for the floor, which depends on the kernels before.
KernelAnalysis analyse_kernel(const MappedComputation& nest, const NestPlan& plan,
                              const MappingDevice& device, std::size_t kernel);

/// The same without HBM, which is most of the effort: its expected time is a lower bound.
KernelAnalysis analyse_on_chip(const MappedComputation& nest, const NestPlan& plan,
                               const MappingDevice& device, std::size_t kernel);

/// Whether a kernel's blocks have room on the device; the cheap part of the analysis.
struct Placed {
    std::int64_t blocks = 1;
    std::int64_t blocks_per_sm = 1;
    std::int64_t sram_bytes = 0;
    std::int64_t registers_bytes = 0;
    bool fits = true;
};
Placed place(const MappedComputation& nest, const NestPlan& plan, const MappingDevice& device,
             std::size_t kernel);

}  // namespace headroom
