// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/computation.h"

#include <array>
#include <bitset>
#include <cstdint>
#include <span>

namespace headroom {

/// How far a tile reaches in each dimension.
using Extents = std::array<std::int64_t, kMostDimensions>;
using DimensionSet = std::bitset<kMostDimensions>;

Extents whole(const Computation& computation);

/// Distinct values of an affine axis over a tile: 3 + 8 - 1 = 10 rows for y + r over 8 outputs of a 3-wide
/// filter.
std::int64_t axis_extent(const Axis& axis, const Extents& extents);

/// Words of a tile. Of several accesses to one tensor the larger counts, axis by axis: a latent vector read
/// as 576 wide keys and as 512 wide values is one tile of 576.
std::int64_t volume(std::span<const Access> accesses, const Extents& extents);
std::int64_t volume(const Access& access, const Extents& extents);

DimensionSet dimensions(const Access& access);
/// Of all operands: the iteration space.
DimensionSet dimensions(const Statement& statement);
/// Summed over: in the iteration space and not in the output.
DimensionSet reduced(const Statement& statement);

/// Points of the iteration space.
std::int64_t points(const Statement& statement, const Extents& extents);

}  // namespace headroom
