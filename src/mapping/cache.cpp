// SPDX-License-Identifier: Apache-2.0
#include "mapping/cache.h"

#include "mapping/grid.h"

#include <algorithm>
#include <map>

namespace headroom {
namespace {

// Tiles of one tensor that L2 holds together: those of the buffers inside one turn of the same loops.
struct Group {
    std::size_t tensor = 0;
    Path inner;  // loops of a block outside the turn
    Buffer tile;
};

struct Model {
    const NestPlan& plan;
    const MappedComputation& nest;
    std::size_t kernel;
    const Path& grid = plan.grids[kernel];
    Extents extents = whole(nest.computation);
    std::vector<std::size_t> outer{};  // buffers that are filled from HBM by way of L2

    ElementType type(std::size_t tensor) const { return nest.computation.tensors[tensor].type; }

    std::int64_t sum(BlockRange interval, const DimensionSet& indexed, const TileWords& words) const {
        return sum_of_distinct(grid, extents, interval, indexed, words);
    }

    // What the blocks of an interval touch in one turn of the first `depth` loops of `path`.
    std::int64_t touched_bytes(const Path& path, std::size_t depth, BlockRange interval) const {
        std::map<std::size_t, std::int64_t> words;
        for (const std::size_t i : outer) {
            const Buffer& b = plan.buffers[i];
            if (shared_steps(b.outside, path) < depth) continue;
            const Path turn(b.outside.begin() + static_cast<std::ptrdiff_t>(grid.size()),
                            b.outside.begin() + static_cast<std::ptrdiff_t>(depth));
            const std::int64_t here = sum(interval, b.indexed, [&](const Extents& block) {
                return volume(b.accesses, inside(turn, block));
            });
            words[b.tensor] = std::max(words[b.tensor], here);
        }
        std::int64_t bytes = 0;
        for (const auto& [tensor, n] : words) bytes += word_bytes(n, type(tensor));
        return bytes;
    }
};

void add(std::vector<Group>& groups, Group fresh) {
    for (Group& g : groups) {
        if (g.tensor != fresh.tensor || g.inner.size() != fresh.inner.size() ||
            shared_steps(g.inner, fresh.inner) < g.inner.size())
            continue;
        g.tile.read |= fresh.tile.read;
        g.tile.written |= fresh.tile.written;
        g.tile.indexed |= fresh.tile.indexed;
        for (Access& a : fresh.tile.accesses) g.tile.accesses.push_back(std::move(a));
        return;
    }
    groups.push_back(std::move(fresh));
}

// Loops of a buffer that one block runs through: up to where its warps part, since they share L2's tiles.
std::size_t block_loops(const Buffer& b) {
    const auto warps = std::find_if(b.outside.begin(), b.outside.end(),
                                    [](const Step& s) { return s.over == LoopBinding::warps; });
    return static_cast<std::size_t>(warps - b.outside.begin());
}

// The outermost loops within one turn of which the first wave's data fits; else each buffer's own loops.
std::vector<Group> groups(const Model& model, BlockRange first_wave, std::int64_t l2_bytes) {
    std::vector<Group> all;
    for (const std::size_t i : model.outer) {
        const Buffer& b = model.plan.buffers[i];
        std::size_t depth = model.grid.size();
        while (depth < block_loops(b) && model.touched_bytes(b.outside, depth, first_wave) > l2_bytes)
            ++depth;
        Group g{b.tensor, {}, b};
        g.inner.assign(b.outside.begin() + static_cast<std::ptrdiff_t>(model.grid.size()),
                       b.outside.begin() + static_cast<std::ptrdiff_t>(depth));
        add(all, std::move(g));
    }
    return all;
}

// The most waves whose data fits together. A block of the k-th wave after comes to a tile at the same point
// of its life as the one that read it, so that what L2 took in meanwhile is the data of k waves.
std::int64_t waves_kept(const Model& model, std::int64_t wave, std::int64_t total, std::int64_t l2_bytes) {
    std::int64_t fits = 1;
    std::int64_t too_many = (total + wave - 1) / wave + 1;
    while (too_many - fits > 1) {
        const std::int64_t half = fits + (too_many - fits) / 2;
        const BlockRange span{0, std::min(total, half * wave)};
        (model.touched_bytes(model.grid, model.grid.size(), span) <= l2_bytes ? fits : too_many) = half;
    }
    return fits;
}

}  // namespace

std::int64_t word_bytes(std::int64_t words, ElementType type) {
    const auto width = static_cast<std::int64_t>(bits(type));
    return (words * width + 7) / 8;
}

CacheTraffic cache_traffic(const NestPlan& plan, const MappedComputation& nest, std::size_t kernel,
                           std::int64_t wave, std::int64_t l2_bytes) {
    Model model{plan, nest, kernel};
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
        const Buffer& b = plan.buffers[i];
        if (b.kernel == kernel && !b.parent && !b.at_home && nest.mapping.home[b.tensor] == MemoryLevel::hbm)
            model.outer.push_back(i);
    }
    CacheTraffic traffic;
    traffic.words.resize(nest.computation.tensors.size());
    const std::int64_t total = blocks(model.grid, model.extents);
    const BlockRange first{0, std::min(wave, total)};
    traffic.l2_bytes = model.touched_bytes(model.grid, model.grid.size(), first);
    const bool fits = traffic.l2_bytes <= l2_bytes;
    if (fits) traffic.waves_kept = waves_kept(model, wave, total, l2_bytes);
    for (const Group& g : groups(model, first, l2_bytes)) {
        const auto reads = [&](const Extents& block) { return moved(g.inner, g.tile, block).reads; };
        const auto writes = [&](const Extents& block) { return moved(g.inner, g.tile, block).writes; };
        Moved& words = traffic.words[g.tensor];
        for (std::int64_t at = 0; at < total; at += wave) {
            const std::int64_t to = std::min(total, at + wave);
            const std::int64_t from = fits ? std::max(std::int64_t{0}, at - traffic.waves_kept * wave) : at;
            const auto fresh = [&](const TileWords& moves) {
                return model.sum({from, to}, g.tile.indexed, moves) -
                       model.sum({from, at}, g.tile.indexed, moves);
            };
            words.reads += fresh(reads);
            if (g.tile.written) words.writes += fresh(writes);
        }
    }
    return traffic;
}

}  // namespace headroom
