// SPDX-License-Identifier: Apache-2.0
#include "mapping/grid.h"

#include <algorithm>
#include <span>

namespace headroom {
namespace {

using BlockRanges = std::vector<BlockRange>;  // disjoint, ascending

BlockRanges merged(BlockRanges all) {
    std::sort(all.begin(), all.end(), [](BlockRange a, BlockRange b) { return a.from < b.from; });
    BlockRanges result;
    for (const BlockRange& i : all) {
        if (!result.empty() && i.from <= result.back().to) {
            result.back().to = std::max(result.back().to, i.to);
        } else {
            result.push_back(i);
        }
    }
    return result;
}

// The part of `all` in which the leading loop is at `value`, counted from there.
BlockRanges at_value(const BlockRanges& all, std::int64_t value, std::int64_t inner) {
    BlockRanges result;
    for (const BlockRange& i : all) {
        const std::int64_t from = std::max(i.from - value * inner, std::int64_t{0});
        const std::int64_t to = std::min(i.to - value * inner, inner);
        if (from < to) result.push_back({from, to});
    }
    return result;
}

struct Run {
    std::int64_t value = 0;
    std::int64_t length = 1;
};

// Values of the leading loop in runs that the intervals treat alike. The last value is alone, its tile may
// be smaller.
std::vector<Run> runs(const BlockRanges& all, std::int64_t values, std::int64_t inner) {
    std::vector<std::int64_t> cuts{0, values - 1, values};
    for (const BlockRange& i : all) {
        for (const std::int64_t v : {i.from / inner, (i.to - 1) / inner}) {
            cuts.push_back(v);
            cuts.push_back(v + 1);
        }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<Run> result;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) result.push_back({cuts[i], cuts[i + 1] - cuts[i]});
    return result;
}

std::int64_t sum(std::span<const Step> grid, const Extents& extents, const BlockRanges& all,
                 const DimensionSet& indexed, const TileWords& words) {
    if (all.empty()) return 0;
    if (grid.empty()) return words(extents);
    const Step& step = grid.front();
    const auto d = static_cast<std::size_t>(step.dimension);
    const auto rest = grid.subspan(1);
    const std::int64_t left = extents[d];
    const std::int64_t tile = std::min(step.size, left);
    const std::int64_t values = trips(left, tile);
    Extents next = extents;
    next[d] = tile;
    const std::int64_t inner = blocks(Path(rest.begin(), rest.end()), next);
    if (!indexed[d]) {
        BlockRanges together;
        for (const Run& run : runs(all, values, inner)) {
            for (const BlockRange& i : at_value(all, run.value, inner)) together.push_back(i);
        }
        return sum(rest, next, merged(std::move(together)), indexed, words);
    }
    std::int64_t total = 0;
    for (const Run& run : runs(all, values, inner)) {
        next[d] = std::min(tile, left - run.value * tile);
        total += run.length * sum(rest, next, at_value(all, run.value, inner), indexed, words);
    }
    return total;
}

}  // namespace

std::int64_t blocks(const Path& grid, Extents extents) {
    std::int64_t product = 1;
    for (const Step& step : grid) {
        std::int64_t& left = extents[static_cast<std::size_t>(step.dimension)];
        product *= trips(left, step.size);
        left = std::min(left, step.size);
    }
    return product;
}

std::int64_t sum_of_distinct(const Path& grid, const Extents& extents, BlockRange interval,
                             const DimensionSet& indexed, const TileWords& words) {
    if (interval.from >= interval.to) return 0;
    return sum(grid, extents, {interval}, indexed, words);
}

}  // namespace headroom
