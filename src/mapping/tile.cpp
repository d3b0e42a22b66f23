// SPDX-License-Identifier: Apache-2.0
#include "mapping/tile.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace headroom {
namespace {

std::int64_t extent(const Extents& extents, int dimension) {
    return extents[static_cast<std::size_t>(dimension)];
}

// Sums of the terms, one by one: for axes whose terms leave gaps and overlap at once.
std::int64_t distinct_sums(const Axis& axis, const Extents& extents) {
    std::set<std::int64_t> sums{0};
    for (const IndexTerm& term : axis) {
        std::set<std::int64_t> next;
        for (const std::int64_t sum : sums) {
            for (std::int64_t i = 0; i < extent(extents, term.dimension); ++i)
                next.insert(sum + i * std::abs(term.factor));
        }
        sums = std::move(next);
    }
    return static_cast<std::int64_t>(sums.size());
}

}  // namespace

Extents whole(const Computation& computation) {
    Extents extents;
    extents.fill(1);
    for (std::size_t d = 0; d < computation.dimensions.size(); ++d)
        extents[d] = computation.dimensions[d].size;
    return extents;
}

std::int64_t axis_extent(const Axis& axis, const Extents& extents) {
    if (axis.size() == 1) return extent(extents, axis.front().dimension);
    const auto nearer = [](const IndexTerm& a, const IndexTerm& b) {
        return std::abs(a.factor) < std::abs(b.factor);
    };
    if (!std::is_sorted(axis.begin(), axis.end(), nearer)) {
        Axis sorted = axis;
        std::sort(sorted.begin(), sorted.end(), nearer);
        return axis_extent(sorted, extents);
    }
    std::int64_t count = 1;  // distinct sums so far, the largest of them being reach - 1
    std::int64_t reach = 1;
    for (const IndexTerm& term : axis) {
        const std::int64_t n = extent(extents, term.dimension);
        const std::int64_t factor = std::abs(term.factor);
        if (n == 1) continue;
        if (factor >= reach) {
            count *= n;  // copies that do not meet
        } else if (count == reach) {
            count = reach + factor * (n - 1);  // without gaps, copies overlap into one run
        } else {
            return distinct_sums(axis, extents);
        }
        reach += factor * (n - 1);
    }
    return count;
}

std::int64_t volume(std::span<const Access> accesses, const Extents& extents) {
    if (accesses.size() == 1) return volume(accesses.front(), extents);
    std::int64_t words = 1;
    for (std::size_t axis = 0; !accesses.empty() && axis < accesses.front().axes.size(); ++axis) {
        std::int64_t widest = 0;
        for (const Access& access : accesses)
            widest = std::max(widest, axis_extent(access.axes[axis], extents));
        words *= widest;
    }
    return words;
}

std::int64_t volume(const Access& access, const Extents& extents) {
    std::int64_t words = 1;
    for (const Axis& axis : access.axes) words *= axis_extent(axis, extents);
    return words;
}

DimensionSet dimensions(const Access& access) {
    DimensionSet set;
    for (const Axis& axis : access.axes) {
        for (const IndexTerm& term : axis) set.set(static_cast<std::size_t>(term.dimension));
    }
    return set;
}

DimensionSet dimensions(const Statement& statement) {
    DimensionSet set = dimensions(statement.output);
    for (const Access& input : statement.inputs) set |= dimensions(input);
    return set;
}

DimensionSet reduced(const Statement& statement) {
    return dimensions(statement) & ~dimensions(statement.output);
}

std::int64_t points(const Statement& statement, const Extents& extents) {
    const DimensionSet set = dimensions(statement);
    std::int64_t product = 1;
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
        if (set[d]) product *= extents[d];
    }
    return product;
}

}  // namespace headroom
