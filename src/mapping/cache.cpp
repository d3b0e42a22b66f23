// SPDX-License-Identifier: Apache-2.0
#include "mapping/cache.h"

#include "mapping/grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace headroom {
namespace {

// Tiles of one tensor that L2 holds together: those of the buffers inside one turn of the same loops.
struct Group {
    std::size_t tensor = 0;
    Path inner;  // loops of a block outside the turn
    Buffer tile;
    bool once = false;       // no loop comes back to its tiles
    bool each_turn = false;  // every turn comes to the same tiles, and all of one turn fits
    double missed = 1;       // of its reads; the rest is there from the nest before
};

struct Model {
    const NestPlan& plan;
    const MappedComputation& nest;
    std::size_t kernel;
    std::int64_t copies = 1;  // of a tile that several blocks read
    const Path& grid = plan.grids[kernel];
    Extents extents = whole(nest.computation);
    std::vector<std::size_t> outer{};  // buffers that are filled from HBM by way of L2

    ElementType type(std::size_t tensor) const { return nest.computation.tensors[tensor].type; }

    // Blocks beside each other read the same tiles.
    bool shared(std::size_t tensor) const {
        return std::any_of(outer.begin(), outer.end(), [&](std::size_t i) {
            const Buffer& b = plan.buffers[i];
            if (b.tensor != tensor || b.written) return false;
            return std::any_of(grid.begin(), grid.end(), [&](const Step& s) {
                const auto d = static_cast<std::size_t>(s.dimension);
                return !b.indexed[d] && trips(extents[d], s.size) > 1;
            });
        });
    }

    std::int64_t sum(BlockRange interval, const DimensionSet& indexed, const TileWords& words) const {
        return sum_of_distinct(grid, extents, interval, indexed, words);
    }

    // What the blocks of an interval touch in one turn of the first `depth` loops of `path`; of it only the
    // buffers from `first` to `last`, in the order in which nests run.
    std::int64_t touched_bytes(const Path& path, std::size_t depth, BlockRange interval,
                               std::size_t first = 0,
                               std::size_t last = std::numeric_limits<std::size_t>::max()) const {
        std::map<std::size_t, std::int64_t> words;
        for (const std::size_t i : outer) {
            const Buffer& b = plan.buffers[i];
            if (i < first || i > last || shared_steps(b.outside, path) < depth) continue;
            const Path turn(b.outside.begin() + static_cast<std::ptrdiff_t>(grid.size()),
                            b.outside.begin() + static_cast<std::ptrdiff_t>(depth));
            const std::int64_t here = sum(interval, b.indexed, [&](const Extents& block) {
                return volume(b.accesses, inside(turn, block));
            });
            words[b.tensor] = std::max(words[b.tensor], here);
        }
        std::int64_t bytes = 0;
        for (const auto& [tensor, n] : words)
            bytes += (shared(tensor) ? copies : 1) * word_bytes(n, type(tensor));
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

// Whether loops of a block, outside the turn, come back to tiles of the tensor or move on to others.
struct Turning {
    bool back = false;
    bool on = false;
};
Turning turning(const Model& model, const Buffer& b, std::size_t depth) {
    Extents left = inside(model.grid, model.extents);
    Turning t;
    for (std::size_t n = model.grid.size(); n < depth; ++n) {
        const auto d = static_cast<std::size_t>(b.outside[n].dimension);
        if (trips(left[d], b.outside[n].size) > 1) (b.indexed[d] ? t.on : t.back) = true;
        left[d] = std::min(left[d], b.outside[n].size);
    }
    return t;
}

// The share of a tensor that an earlier nest of the same body has read and this one finds. When it comes to a
// place, what the earlier nest has read and its own tiles so far have passed since; sums that are written
// when the body is done have not.
double read_just_before(const Model& model, std::size_t later, BlockRange wave, std::int64_t l2_bytes) {
    const Buffer& b = model.plan.buffers[later];
    for (const std::size_t i : model.outer) {
        const Buffer& a = model.plan.buffers[i];
        if (i >= later || a.tensor != b.tensor || a.written || b.written) continue;
        const std::size_t shared = shared_steps(a.outside, b.outside);
        if (shared >= a.outside.size() || shared >= b.outside.size()) continue;
        const Path body(b.outside.begin(), b.outside.begin() + static_cast<std::ptrdiff_t>(shared));
        const auto reads = [&](const Buffer& x) { return volume(x.accesses, inside(body, model.extents)); };
        if (reads(a) < reads(b) || (b.indexed & ~a.indexed).any()) continue;
        std::size_t last = later;  // of this nest
        for (const std::size_t n : model.outer) {
            if (shared_steps(model.plan.buffers[n].outside, b.outside) > shared) last = std::max(last, n);
        }
        const auto before = static_cast<double>(model.touched_bytes(body, shared, wave, i, later - 1));
        const auto both = static_cast<double>(model.touched_bytes(body, shared, wave, i, last));
        const double room = static_cast<double>(l2_bytes);
        return both <= room ? 1 : std::max(0.0, (room - before) / (both - before));
    }
    return 0;
}

// The outermost loops within one turn of which the first wave's data fits; else each buffer's own loops.
std::vector<Group> groups(const Model& model, BlockRange first_wave, std::int64_t l2_bytes) {
    std::vector<Group> all;
    for (const std::size_t i : model.outer) {
        const Buffer& b = model.plan.buffers[i];
        std::size_t depth = model.grid.size();
        while (depth < block_loops(b) && model.touched_bytes(b.outside, depth, first_wave) > l2_bytes)
            ++depth;
        const double found =
            depth > model.grid.size() ? read_just_before(model, i, first_wave, l2_bytes) : 0.0;
        if (found >= 1) continue;
        const bool held = model.touched_bytes(b.outside, depth, first_wave) <= l2_bytes;
        const Turning turns = turning(model, b, depth);
        Group g{b.tensor, {}, b, !turns.back, held && turns.back && !turns.on, 1 - found};
        g.inner.assign(b.outside.begin() + static_cast<std::ptrdiff_t>(model.grid.size()),
                       b.outside.begin() + static_cast<std::ptrdiff_t>(depth));
        add(all, std::move(g));
    }
    return all;
}

// For each wave, of how many before it all data is still there. A block of a wave comes to a tile at the same
// point of its life as the one that read it k waves ago, so what L2 took in meanwhile is the data of k waves.
std::vector<std::int64_t> waves_kept(const Model& model, std::int64_t wave, std::int64_t total,
                                     std::int64_t l2_bytes) {
    std::vector<std::int64_t> kept;
    for (std::int64_t at = 0; at < total; at += wave) {
        std::int64_t k = kept.empty() ? 0 : kept.back() + 1;
        const auto touched = [&](std::int64_t waves) {
            return model.touched_bytes(model.grid, model.grid.size(),
                                       {at - (waves - 1) * wave, std::min(total, at + wave)});
        };
        while (k > 0 && touched(k) > l2_bytes) --k;
        kept.push_back(k);
    }
    return kept;
}

// What each wave touches in its life.
std::vector<std::int64_t> lives(const Model& model, std::int64_t wave, std::int64_t total) {
    std::vector<std::int64_t> bytes;
    for (std::int64_t at = 0; at < total; at += wave)
        bytes.push_back(model.touched_bytes(model.grid, model.grid.size(), {at, std::min(total, at + wave)}));
    return bytes;
}

// Standard deviations between the first and the last of n, on average (Blom 1958), by Tukey's approximation
// of the normal quantile.
double normal_range(double n) {
    const double p = (n - 0.375) / (n + 0.25);
    return n <= 1 ? 0 : 2 * 4.91 * (std::pow(p, 0.14) - std::pow(1 - p, 0.14));
}

// A tile is left alone from its last block in one wave to its first in the next. Blocks so many places from
// where two waves meet are so far apart in time that what a wave touches in the rest of a life fits.
std::int64_t near_the_end(std::int64_t life, std::int64_t l2_bytes, double spread, std::int64_t wave) {
    const double needed = std::max(0.0, 1 - static_cast<double>(l2_bytes) / static_cast<double>(life));
    if (needed >= std::min(1.0, spread)) return 0;
    return static_cast<std::int64_t>((1 - needed / std::min(1.0, spread)) * 0.5 * static_cast<double>(wave));
}

struct Waves {
    std::int64_t size = 0, total = 0;  // in blocks
    std::vector<std::int64_t> kept{};  // of each wave, how many before it are still there
    std::vector<std::int64_t> life{};  // bytes that each touches
};

// What passes for the tiles of one group.
Moved group_traffic(const Model& model, const Group& g, const Waves& waves, const SharedCache& cache) {
    const BlockRange first{0, std::min(waves.size, waves.total)};
    const auto reads = [&](const Extents& block) { return moved(g.inner, g.tile, block).reads; };
    const auto writes = [&](const Extents& block) { return moved(g.inner, g.tile, block).writes; };
    const auto tile = [&](const Extents& block) { return volume(g.tile.accesses, block); };
    const std::int64_t all = first.to * tile(inside(model.grid, model.extents));
    const double blocks_of_a_tile =
        static_cast<double>(all) / static_cast<double>(model.sum(first, g.tile.indexed, tile));
    const double range = normal_range(blocks_of_a_tile) * cache.uneven;
    Moved words;
    for (std::int64_t at = 0; at < waves.total; at += waves.size) {
        const std::int64_t to = std::min(waves.total, at + waves.size);
        const auto w = static_cast<std::size_t>(at / waves.size);
        const std::int64_t kept =
            g.each_turn && w > 0 ? std::max<std::int64_t>(1, waves.kept[w]) : waves.kept[w];
        const std::int64_t from = at - kept * waves.size;
        const auto fresh = [&](const TileWords& moves) {
            return model.sum({from, to}, g.tile.indexed, moves) -
                   model.sum({from, at}, g.tile.indexed, moves);
        };
        words.reads += fresh(reads);
        if (g.tile.written) words.writes += fresh(writes);
        if (kept > 0 || !g.once || range <= 0) continue;
        const std::int64_t near =
            near_the_end(waves.life[w], cache.bytes, range * std::sqrt(static_cast<double>(w)), waves.size);
        if (near == 0) continue;
        const BlockRange last{at - near, at}, next{at, std::min(to, at + near)};
        words.reads -= model.sum(last, g.tile.indexed, reads) + model.sum(next, g.tile.indexed, reads) -
                       model.sum({last.from, next.to}, g.tile.indexed, reads);
    }
    words.reads = std::llround(g.missed * static_cast<double>(words.reads));
    return words;
}

}  // namespace

std::int64_t word_bytes(std::int64_t words, ElementType type) {
    const auto width = static_cast<std::int64_t>(bits(type));
    return (words * width + 7) / 8;
}

CacheTraffic cache_traffic(const NestPlan& plan, const MappedComputation& nest, std::size_t kernel,
                           std::int64_t wave, const SharedCache& cache) {
    Model model{plan, nest, kernel, cache.copies};
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
        const Buffer& b = plan.buffers[i];
        if (b.kernel == kernel && !b.parent && !b.at_home && nest.mapping.home[b.tensor] == MemoryLevel::hbm)
            model.outer.push_back(i);
    }
    CacheTraffic traffic;
    traffic.words.resize(nest.computation.tensors.size());
    const std::int64_t total = blocks(model.grid, model.extents);
    const BlockRange first{0, std::min(wave, total)};
    const bool fits = model.touched_bytes(model.grid, model.grid.size(), first) <= cache.bytes;
    model.copies = 1;
    traffic.l2_bytes = model.touched_bytes(model.grid, model.grid.size(), first);
    model.copies = cache.copies;
    const auto count = static_cast<std::size_t>((total + wave - 1) / wave);
    const std::vector<std::int64_t> none(count);
    const Waves waves{wave, total, fits ? waves_kept(model, wave, total, cache.bytes) : none,
                      cache.uneven > 0 ? lives(model, wave, total) : none};
    traffic.waves_kept = *std::max_element(waves.kept.begin(), waves.kept.end());
    for (const Group& g : groups(model, first, cache.bytes)) {
        const Moved words = group_traffic(model, g, waves, cache);
        traffic.words[g.tensor].reads += words.reads;
        traffic.words[g.tensor].writes += words.writes;
    }
    return traffic;
}

}  // namespace headroom
