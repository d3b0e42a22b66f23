// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/device.h"
#include "ops/work.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

/// What stands between making an intermediate and using it up.
enum class Between {
    nothing,     ///< elementwise at most: each tile can be used as it is made
    streamable,  ///< a row reduction that can be kept online and corrected afterwards
    sum          ///< the consumer sums over it, so its whole output row must be accumulated meanwhile
};

inline constexpr std::array kBetween{
    std::pair{Between::nothing, std::string_view("nothing")},
    std::pair{Between::streamable, std::string_view("streamable reduction")},
    std::pair{Between::sum, std::string_view("sum into a wider row")},
};

/// An intermediate that is produced by one operator and consumed by the next.
struct FusionCandidate {
    std::string name;
    std::string producer, consumer;
    double count = 1;     ///< times in a step
    Bytes bytes;          ///< of one copy
    double passes = 2;    ///< over HBM when it is not fused
    Bytes saved;          ///< in a step: count x passes x bytes
    bool in_step = true;  ///< the step's bytes include these passes; false: engines fuse it already
    Between between = Between::nothing;
    Bytes tile;        ///< SRAM and registers that the smallest useful tile takes
    bool fits = true;  ///< on one SM
};

/// Intermediates of a step of at least `least` bytes, most savings first. `step` is what `step_operators`
/// gives.
std::vector<FusionCandidate> fusion_candidates(const std::vector<Operator>& step, const MappingDevice& device,
                                               Bytes least = 1 * MiB);

}  // namespace headroom
