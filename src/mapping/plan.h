// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/tile.h"
#include "spec/nest.h"

#include <optional>
#include <vector>

namespace headroom {

/// One loop on the way from a kernel's root to a place inside it.
struct Step {
    int loop = 0;  ///< number of the loop in its mapping: equal for paths through the same loop
    int dimension = 0;
    int factor = -1;
    std::int64_t size = 1;
    LoopBinding over = LoopBinding::time;
};
using Path = std::vector<Step>;

/// A tile of one tensor that is held at one place of a nest.
struct Buffer {
    std::size_t kernel = 0;
    std::size_t tensor = 0;
    MemoryLevel level = MemoryLevel::sram;
    std::optional<std::size_t> parent;  ///< the buffer it is filled from; none: the tensor's home
    bool at_home = false;               ///< the tensor lives here; nothing is filled or written back
    Path outside;
    std::vector<Access> accesses;  ///< of the statements inside, each index once
    DimensionSet indexed;
    bool read = false;
    bool written = false;
    bool accumulates = false;  ///< some statement sums into it
    std::int64_t copies = 1;
};

/// An operand of a statement and the buffer that serves it.
struct Use {
    int statement = 0;
    bool output = false;
    Access access;
    std::optional<std::size_t> buffer;
};

struct PlanNode {
    std::vector<std::size_t> buffers;
    std::vector<std::size_t> children;
};

/// Where a statement runs.
struct Placement {
    int statement = 0;
    std::size_t kernel = 0;
    Path path;
};

/// The nests of a mapping laid flat: what the analysis walks over.
struct NestPlan {
    std::vector<Buffer> buffers;
    std::vector<Use> uses;
    std::vector<Placement> placements;  ///< in the order in which they run
    std::vector<PlanNode> nodes;
    std::vector<std::size_t> roots;  ///< of each kernel
    std::vector<Path> grids;         ///< the loops over blocks of each kernel
};

NestPlan make_plan(const MappedComputation& nest);

/// Takes changed tile factors over, without laying the nests flat again.
void rebind(NestPlan& plan, const Mapping& mapping);

/// Iterations of a loop over what is left of its dimension.
constexpr std::int64_t trips(std::int64_t left, std::int64_t tile) {
    return tile >= left ? 1 : (left + tile - 1) / tile;
}

/// The largest tile inside a path.
Extents inside(const Path& path, Extents extents);

/// The loops that two paths share, from the root.
std::size_t shared_steps(const Path& a, const Path& b);

}  // namespace headroom
