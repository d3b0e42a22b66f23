// SPDX-License-Identifier: Apache-2.0
#include "mapping/grid.h"

#include <algorithm>
#include <array>
#include <span>

namespace headroom {
namespace {

// Blocks that still count under some loops: one interval, or what of it lies at the end of one value of a
// loop and at the start of another's. So two ranges are enough: of a start and an end come starts and ends.
struct BlockRanges {
    std::array<BlockRange, 2> ranges{};
    std::size_t count = 0;

    const BlockRange* begin() const { return ranges.data(); }
    const BlockRange* end() const { return ranges.data() + count; }

    void add(BlockRange fresh) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const BlockRange r = ranges[i];
            if (r.from <= fresh.to && fresh.from <= r.to)
                fresh = {std::min(r.from, fresh.from), std::max(r.to, fresh.to)};
            else
                ranges[kept++] = r;
        }
        ranges[kept] = fresh;
        count = kept + 1;
    }
};

// Adds the part of `all` in which the leading loop is at `value`, counted from there.
void add_at(BlockRanges& to, const BlockRanges& all, std::int64_t value, std::int64_t inner) {
    for (const BlockRange& i : all) {
        const BlockRange part{std::max(i.from - value * inner, std::int64_t{0}),
                              std::min(i.to - value * inner, inner)};
        if (part.from < part.to) to.add(part);
    }
}

// First values of the runs of the leading loop that the intervals treat alike. The last value is alone, its
// tile may be smaller.
struct Runs {
    std::array<std::int64_t, 12> cuts{};
    std::size_t count = 0;

    void cut(std::int64_t at) {
        std::size_t place = count;
        while (place > 0 && cuts[place - 1] > at) --place;
        if (place > 0 && cuts[place - 1] == at) return;
        std::copy_backward(cuts.begin() + place, cuts.begin() + count, cuts.begin() + count + 1);
        cuts[place] = at;
        ++count;
    }
};

Runs runs(const BlockRanges& all, std::int64_t values, std::int64_t inner) {
    Runs result;
    for (const std::int64_t v : {std::int64_t{0}, values - 1, values}) result.cut(v);
    for (const BlockRange& i : all) {
        for (const std::int64_t v : {i.from / inner, (i.to - 1) / inner}) {
            result.cut(v);
            result.cut(v + 1);
        }
    }
    return result;
}

std::int64_t blocks(std::span<const Step> grid, Extents extents) {
    std::int64_t product = 1;
    for (const Step& step : grid) {
        std::int64_t& left = extents[static_cast<std::size_t>(step.dimension)];
        product *= trips(left, step.size);
        left = std::min(left, step.size);
    }
    return product;
}

std::int64_t sum(std::span<const Step> grid, const Extents& extents, const BlockRanges& all,
                 const DimensionSet& indexed, const TileWords& words) {
    if (all.count == 0) return 0;
    if (grid.empty()) return words(extents);
    const Step& step = grid.front();
    const auto d = static_cast<std::size_t>(step.dimension);
    const auto rest = grid.subspan(1);
    const std::int64_t left = extents[d];
    const std::int64_t tile = std::min(step.size, left);
    const std::int64_t values = trips(left, tile);
    Extents next = extents;
    next[d] = tile;
    const std::int64_t inner = blocks(rest, next);
    const Runs all_runs = runs(all, values, inner);
    BlockRanges together;
    std::int64_t total = 0;
    for (std::size_t r = 0; r + 1 < all_runs.count; ++r) {
        const std::int64_t value = all_runs.cuts[r];
        if (!indexed[d]) {
            add_at(together, all, value, inner);
            continue;
        }
        BlockRanges here;
        add_at(here, all, value, inner);
        next[d] = std::min(tile, left - value * tile);
        total += (all_runs.cuts[r + 1] - value) * sum(rest, next, here, indexed, words);
    }
    return indexed[d] ? total : sum(rest, next, together, indexed, words);
}

}  // namespace

std::int64_t blocks(const Path& grid, Extents extents) { return blocks(std::span(grid), extents); }

std::int64_t sum_of_distinct(const Path& grid, const Extents& extents, BlockRange interval,
                             const DimensionSet& indexed, const TileWords& words) {
    if (interval.from >= interval.to) return 0;
    BlockRanges all;
    all.add(interval);
    return sum(grid, extents, all, indexed, words);
}

}  // namespace headroom
