// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/computation.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// From far to near. SRAM (shared memory) is one block's, registers one warp's.
enum class MemoryLevel { hbm, l2, sram, registers };

inline constexpr std::array kMemoryLevels{
    std::pair{MemoryLevel::hbm, std::string_view("hbm")},
    std::pair{MemoryLevel::l2, std::string_view("l2")},
    std::pair{MemoryLevel::sram, std::string_view("sram")},
    std::pair{MemoryLevel::registers, std::string_view("registers")},
};

/// Iterations of a loop run on different blocks, on different warps of a block, or one after the other.
enum class LoopBinding { blocks, warps, time };

inline constexpr std::array kLoopBindings{
    std::pair{LoopBinding::blocks, std::string_view("blocks")},
    std::pair{LoopBinding::warps, std::string_view("warps")},
    std::pair{LoopBinding::time, std::string_view("time")},
};

/// A named tile factor; loops refer to it, `--set` and the search change it.
struct TileFactor {
    std::string name;
    std::int64_t value = 1;
    std::int64_t granule = 16;  ///< the search tries granule times 2^k and 3 x 2^k
    bool searched = true;
};

/// Cuts what is left of a dimension into tiles; the last one may be smaller.
struct Loop {
    int dimension = 0;
    int factor = -1;        ///< index into Mapping::tiles; -1: `size`
    std::int64_t size = 1;  ///< of a tile
    LoopBinding over = LoopBinding::time;
};

/// A tensor's tile is held at `level` while everything inside the nest runs.
struct Stage {
    int tensor = 0;
    MemoryLevel level = MemoryLevel::sram;
};

/// Loops, outermost first; what is held inside them; and there either one statement or nests in sequence.
struct Nest {
    std::vector<Loop> loops;
    std::vector<Stage> stages;
    std::int64_t buffers = 1;  ///< copies of the staged SRAM tiles, to load ahead
    int statement = -1;
    std::vector<Nest> body;
};

struct NestKernel {
    std::string name;
    Nest nest;
};

/// How a computation is run: kernels one after the other, and where each tensor lives.
struct Mapping {
    std::string name;
    std::string title;
    std::vector<TileFactor> tiles;
    std::vector<MemoryLevel> home;  ///< per tensor; what is not at home in HBM never goes there
    std::vector<NestKernel> kernels;
};

struct MappedComputation {
    Computation computation;
    Mapping mapping;
};

inline std::int64_t tile_size(const Mapping& mapping, const Loop& loop) {
    return loop.factor < 0 ? loop.size : mapping.tiles[static_cast<std::size_t>(loop.factor)].value;
}

}  // namespace headroom
