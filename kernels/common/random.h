// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"
#include "common/dtype.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::kernels {

// Fills `count` values with a normal distribution of the given standard deviation, a pure function of
// (seed, index). Rounded to `type`; int8 is rounded to integers and clipped.
void fill_normal(void* device, std::size_t count, DType type, float deviation, std::uint64_t seed,
                 Stream stream);

// Fills memory with a pattern that reads as NaN in every floating type, so that an unwritten output is seen.
void poison(void* device, std::size_t bytes, Stream stream);

// `count` values at `device + offset` (in values) as doubles.
std::vector<double> read_values(const void* device, std::size_t offset, std::size_t count, DType type);

}  // namespace headroom::kernels
