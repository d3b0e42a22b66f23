// SPDX-License-Identifier: Apache-2.0
#include "mapping/footprint.h"

#include "mapping/cache.h"

#include <algorithm>

namespace headroom {
namespace {

std::int64_t warps(const Path& path, Extents extents) {
    std::int64_t n = 1;
    for (const Step& step : path) {
        std::int64_t& left = extents[static_cast<std::size_t>(step.dimension)];
        if (step.over == LoopBinding::warps) n *= trips(left, step.size);
        left = std::min(left, step.size);
    }
    return n;
}

// Sums are kept in fp32 while they are in registers, as matrix units do.
ElementType held_type(const Buffer& b, ElementType stored) {
    const bool widened = b.level == MemoryLevel::registers && b.accumulates;
    return widened && bits(stored) < bits(ElementType::fp32) ? ElementType::fp32 : stored;
}

std::int64_t held(const NestPlan& plan, const MappedComputation& nest, std::size_t node, MemoryLevel level) {
    const Extents extents = whole(nest.computation);
    std::int64_t own = 0;
    for (const std::size_t i : plan.nodes[node].buffers) {
        const Buffer& b = plan.buffers[i];
        if (b.level != level) continue;
        const std::int64_t words = volume(b.accesses, inside(b.outside, extents));
        own += b.copies * warps(b.outside, extents) *
               word_bytes(words, held_type(b, nest.computation.tensors[b.tensor].type));
    }
    std::int64_t largest = 0;
    for (const std::size_t child : plan.nodes[node].children)
        largest = std::max(largest, held(plan, nest, child, level));
    return own + largest;
}

}  // namespace

std::int64_t footprint_bytes(const NestPlan& plan, const MappedComputation& nest, std::size_t kernel,
                             MemoryLevel level) {
    return held(plan, nest, plan.roots[kernel], level);
}

std::int64_t most_warps(const NestPlan& plan, const MappedComputation& nest, std::size_t kernel) {
    std::int64_t most = 1;
    for (const Placement& p : plan.placements) {
        if (p.kernel == kernel) most = std::max(most, warps(p.path, whole(nest.computation)));
    }
    return most;
}

std::int64_t tensor_bytes(const Computation& computation, std::size_t tensor) {
    const NestTensor& t = computation.tensors[tensor];
    return word_bytes(volume(t.shape, whole(computation)), t.type);
}

}  // namespace headroom
