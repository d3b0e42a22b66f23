// SPDX-License-Identifier: Apache-2.0
#include "mapping_brute_force.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>

namespace headroom::test {
namespace {

struct Range {
    std::int64_t from = 0;
    std::int64_t to = 1;
    auto operator<=>(const Range&) const = default;
};
using Ranges = std::vector<Range>;
using Word = std::vector<std::int64_t>;
using Words = std::set<Word>;

// Values of one axis over the ranges.
std::set<std::int64_t> values(const Axis& axis, const Ranges& ranges, std::size_t term = 0) {
    if (term == axis.size()) return {0};
    std::set<std::int64_t> all;
    const std::set<std::int64_t> rest = values(axis, ranges, term + 1);
    const Range r = ranges[static_cast<std::size_t>(axis[term].dimension)];
    for (std::int64_t i = r.from; i < r.to; ++i) {
        for (const std::int64_t v : rest) all.insert(axis[term].factor * i + v);
    }
    return all;
}

// The box of words that several accesses need.
Words words(const std::vector<Access>& accesses, const Ranges& ranges) {
    Words all{{}};
    for (std::size_t axis = 0; axis < accesses.front().axes.size(); ++axis) {
        std::set<std::int64_t> here;
        for (const Access& a : accesses) here.merge(values(a.axes[axis], ranges));
        Words longer;
        for (const Word& w : all) {
            for (const std::int64_t v : here) {
                Word next = w;
                next.push_back(v);
                longer.insert(std::move(next));
            }
        }
        all = std::move(longer);
    }
    return all;
}

std::set<int> dimensions_of(const std::vector<Access>& accesses) {
    std::set<int> all;
    for (const Access& a : accesses) {
        for (const Axis& axis : a.axes) {
            for (const IndexTerm& t : axis) all.insert(t.dimension);
        }
    }
    return all;
}

// Uses of a tensor inside a nest.
struct Inside {
    std::vector<Access> accesses;
    bool written = false;
};

void collect(const MappedComputation& m, const Nest& n, int tensor, Inside& found) {
    if (n.statement >= 0) {
        const Statement& s = m.computation.statements[static_cast<std::size_t>(n.statement)];
        for (const Access& a : s.inputs) {
            if (a.tensor == tensor) found.accesses.push_back(a);
        }
        if (s.output.tensor == tensor) {
            found.accesses.push_back(s.output);
            found.written = true;
        }
    }
    for (const Nest& inner : n.body) collect(m, inner, tensor, found);
}

struct Held {
    std::vector<Range> identity;
    Words tile;
    bool loaded = false;
    Words stored;  // what was written back before
};

struct Runner {
    const MappedComputation& m;
    const Nest* root;
    Counts counts{};
    std::int64_t block = 0;
    std::vector<std::int64_t> warp{};
    // One tile per nest, stage and warp; a block starts with none.
    std::map<std::pair<const Stage*, std::vector<std::int64_t>>, Held> held{};
    std::map<std::pair<int, std::int64_t>, Words> begun{};  // sums that have a value already
    std::vector<std::pair<int, MemoryLevel>> around{};      // stages outside, outermost first
    // For HBM: what each block moved and touched through L2, by tensor.
    std::vector<std::map<int, Count>> moved{};
    std::map<int, Inside> through_l2{};

    MemoryLevel home(int tensor) const { return m.mapping.home[static_cast<std::size_t>(tensor)]; }

    MemoryLevel source(int tensor) const {
        for (auto a = around.rbegin(); a != around.rend(); ++a) {
            if (a->first == tensor) return a->second;
        }
        return home(tensor);
    }

    void cross(int tensor, MemoryLevel from, Count n) {
        const MemoryLevel crossed = from == MemoryLevel::hbm ? MemoryLevel::l2 : from;
        Count& c = counts[{tensor, crossed}];
        c.reads += n.reads;
        c.writes += n.writes;
        if (from != MemoryLevel::hbm) return;
        moved.resize(static_cast<std::size_t>(block) + 1);
        Count& of_block = moved.back()[tensor];
        of_block.reads += n.reads;
        of_block.writes += n.writes;
    }

    void visit(const Stage& stage, const Inside& uses, const Ranges& ranges) {
        const MemoryLevel from = source(stage.tensor);
        if (from == MemoryLevel::hbm) {
            Inside& all = through_l2[stage.tensor];
            all.accesses.insert(all.accesses.end(), uses.accesses.begin(), uses.accesses.end());
            all.written |= uses.written;
        }
        if (stage.level == home(stage.tensor)) return;
        std::vector<Range> identity;
        for (const int d : dimensions_of(uses.accesses))
            identity.push_back(ranges[static_cast<std::size_t>(d)]);
        Held& h = held[{&stage, warp}];
        if (h.loaded && h.identity == identity) return;
        if (h.loaded && uses.written) {
            cross(stage.tensor, from, {0, static_cast<std::int64_t>(h.tile.size())});
            h.stored.insert(h.tile.begin(), h.tile.end());
        }
        h.identity = identity;
        h.tile = words(uses.accesses, ranges);
        h.loaded = true;
        std::int64_t reads = static_cast<std::int64_t>(h.tile.size());
        if (uses.written) {
            reads = std::count_if(h.tile.begin(), h.tile.end(),
                                  [&](const Word& w) { return h.stored.count(w) > 0; });
        }
        cross(stage.tensor, from, {reads, 0});
    }

    void point(const Statement& s, const Ranges& at) {
        for (const Access& a : s.inputs) counts[{a.tensor, source(a.tensor)}].reads += 1;
        Count& out = counts[{s.output.tensor, source(s.output.tensor)}];
        out.writes += 1;
        std::set<int> all = dimensions_of(s.inputs);
        const std::set<int> own = dimensions_of({s.output});
        if (std::includes(own.begin(), own.end(), all.begin(), all.end())) return;
        const Word w = *words({s.output}, at).begin();
        if (!begun[{s.output.tensor, 0}].insert(w).second) out.reads += 1;
    }

    void points(const Statement& s, Ranges ranges, const std::vector<int>& dims, std::size_t i) {
        if (i == dims.size()) return point(s, ranges);
        const auto d = static_cast<std::size_t>(dims[i]);
        const Range r = ranges[d];
        for (std::int64_t v = r.from; v < r.to; ++v) {
            ranges[d] = {v, v + 1};
            points(s, ranges, dims, i + 1);
        }
    }

    void inside(const Nest& n, const Ranges& ranges) {
        const std::size_t outer = around.size();
        for (const Stage& stage : n.stages) {
            Inside uses;
            collect(m, n, stage.tensor, uses);
            visit(stage, uses, ranges);
            around.emplace_back(stage.tensor, stage.level);
        }
        if (n.statement >= 0) {
            const Statement& s = m.computation.statements[static_cast<std::size_t>(n.statement)];
            std::vector<Access> all = s.inputs;
            all.push_back(s.output);
            const std::set<int> dims = dimensions_of(all);
            points(s, ranges, {dims.begin(), dims.end()}, 0);
        }
        for (const Nest& inner : n.body) loops(inner, inner.loops, 0, ranges);
        around.resize(outer);
    }

    // Inside a loop over time that moves on, the tiles that it moves are given up, idle warps' too.
    void give_up(const Nest& n, const Nest& top, int dimension) {
        for (const Stage& stage : n.stages) {
            Inside uses;
            collect(m, n, stage.tensor, uses);
            if (dimensions_of(uses.accesses).count(dimension) == 0) continue;
            for (auto& [key, h] : held) {
                if (key.first != &stage || !h.loaded) continue;
                if (uses.written) {
                    cross(stage.tensor, key_source(top, &stage, home(stage.tensor)),
                          {0, static_cast<std::int64_t>(h.tile.size())});
                    h.stored.insert(h.tile.begin(), h.tile.end());
                }
                h.loaded = false;
            }
        }
        for (const Nest& inner : n.body) give_up(inner, top, dimension);
    }

    void loops(const Nest& n, const std::vector<Loop>& all, std::size_t i, Ranges ranges) {
        if (i == all.size()) return inside(n, ranges);
        const auto d = static_cast<std::size_t>(all[i].dimension);
        const Range r = ranges[d];
        const std::int64_t tile = tile_size(m.mapping, all[i]);
        std::int64_t turn = 0;
        for (std::int64_t at = r.from; at < r.to; at += tile, ++turn) {
            ranges[d] = {at, std::min(r.to, at + tile)};
            if (all[i].over == LoopBinding::warps) warp.push_back(turn);
            if (all[i].over == LoopBinding::time && tile < r.to - r.from) give_up(n, *root, all[i].dimension);
            loops(n, all, i + 1, ranges);
            if (all[i].over == LoopBinding::warps) warp.pop_back();
        }
    }

    void flush(const Nest& n) {
        for (auto& [key, h] : held) {
            const int tensor = key.first->tensor;
            Inside uses;
            collect_stage(n, key.first, uses);
            if (h.loaded && uses.written)
                cross(tensor, key_source(n, key.first, home(tensor)),
                      {0, static_cast<std::int64_t>(h.tile.size())});
        }
        held.clear();
    }

    void collect_stage(const Nest& n, const Stage* stage, Inside& uses) const {
        for (const Stage& s : n.stages) {
            if (&s == stage) collect(m, n, stage->tensor, uses);
        }
        for (const Nest& inner : n.body) collect_stage(inner, stage, uses);
    }

    // The level that a stage is filled from: the last one of its tensor on the way to it.
    MemoryLevel key_source(const Nest& n, const Stage* stage, MemoryLevel from) const {
        std::optional<MemoryLevel> found;
        std::function<void(const Nest&, MemoryLevel)> down = [&](const Nest& at, MemoryLevel level) {
            for (const Stage& s : at.stages) {
                if (&s == stage) found = level;
                if (s.tensor == stage->tensor) level = s.level;
            }
            for (const Nest& inner : at.body) down(inner, level);
        };
        down(n, from);
        return found.value_or(from);
    }
};

using Tile = std::pair<int, std::vector<Range>>;  // tensor and the block's range of its dimensions

struct BlockTile {
    Tile tile;
    std::int64_t words = 0;
    Count moved;
    bool written = false;
};

std::int64_t bytes_of(const MappedComputation& m, const std::map<Tile, std::int64_t>& tiles) {
    std::map<int, std::int64_t> words;
    for (const auto& [tile, n] : tiles) words[tile.first] += n;
    std::int64_t bytes = 0;
    for (const auto& [tensor, n] : words)
        bytes += (n * std::int64_t(bits(m.computation.tensors[std::size_t(tensor)].type)) + 7) / 8;
    return bytes;
}

std::int64_t touched(const MappedComputation& m, const std::vector<std::vector<BlockTile>>& blocks,
                     std::size_t from, std::size_t to) {
    std::map<Tile, std::int64_t> tiles;
    for (std::size_t b = from; b < to; ++b) {
        for (const BlockTile& t : blocks[b]) tiles[t.tile] = std::max(tiles[t.tile], t.words);
    }
    return bytes_of(m, tiles);
}

// Blocks in step behind an L2 that holds whole waves, or nothing.
void through_cache(const MappedComputation& m, const std::vector<std::vector<BlockTile>>& blocks,
                   std::size_t wave, std::int64_t l2_bytes, Counts& counts) {
    for (std::size_t at = 0; at < blocks.size(); at += wave) {
        // Waves before this one whose data fits together with what came since, its own included.
        std::size_t kept = 0;
        while (l2_bytes > 0 && kept * wave < at &&
               touched(m, blocks, at - kept * wave, std::min(blocks.size(), at + wave)) <= l2_bytes)
            ++kept;
        std::set<Tile> there;
        for (std::size_t b = at - std::min(at, kept * wave); l2_bytes > 0 && b < at; ++b) {
            for (const BlockTile& t : blocks[b]) there.insert(t.tile);
        }
        std::map<Tile, BlockTile> fresh;
        for (std::size_t b = at; b < std::min(blocks.size(), at + wave); ++b) {
            for (const BlockTile& t : blocks[b]) {
                if (there.count(t.tile) > 0) continue;
                BlockTile& f = fresh[t.tile];
                f.written = t.written;
                f.words = std::max(f.words, t.words);
                f.moved.reads = std::max(f.moved.reads, t.moved.reads);
                f.moved.writes = std::max(f.moved.writes, t.moved.writes);
            }
        }
        for (const auto& [tile, t] : fresh) {
            Count& c = counts[{tile.first, MemoryLevel::hbm}];
            c.reads += l2_bytes == 0 ? t.moved.reads : t.written ? 0 : t.words;
            c.writes += l2_bytes == 0 ? t.moved.writes : t.written ? t.words : 0;
        }
    }
}

}  // namespace

Counts run_kernel(const MappedComputation& m, std::size_t kernel, std::int64_t wave, std::int64_t l2_bytes) {
    const Nest& root = m.mapping.kernels[kernel].nest;
    Runner run{m, &root};
    Ranges ranges;
    for (const LoopDimension& d : m.computation.dimensions) ranges.push_back({0, d.size});
    std::vector<Loop> grid, rest;
    for (const Loop& l : root.loops) (l.over == LoopBinding::blocks ? grid : rest).push_back(l);
    std::vector<Ranges> launched;
    std::function<void(std::size_t, Ranges)> launch = [&](std::size_t i, Ranges r) {
        if (i == grid.size()) {
            launched.push_back(r);
            return;
        }
        const auto d = static_cast<std::size_t>(grid[i].dimension);
        const Range all = r[d];
        for (std::int64_t at = all.from; at < all.to; at += tile_size(m.mapping, grid[i])) {
            r[d] = {at, std::min(all.to, at + tile_size(m.mapping, grid[i]))};
            launch(i + 1, r);
        }
    };
    launch(0, ranges);
    for (const Ranges& r : launched) {
        run.moved.resize(static_cast<std::size_t>(run.block) + 1);
        run.loops(root, rest, 0, r);
        run.flush(root);
        ++run.block;
    }
    if (l2_bytes < 0) return run.counts;
    std::vector<std::vector<BlockTile>> blocks(launched.size());
    for (std::size_t b = 0; b < launched.size(); ++b) {
        for (const auto& [tensor, uses] : run.through_l2) {
            BlockTile t;
            t.tile.first = tensor;
            for (const int d : dimensions_of(uses.accesses))
                t.tile.second.push_back(launched[b][static_cast<std::size_t>(d)]);
            t.words = static_cast<std::int64_t>(words(uses.accesses, launched[b]).size());
            t.moved = run.moved[b][tensor];
            t.written = uses.written;
            blocks[b].push_back(std::move(t));
        }
    }
    through_cache(m, blocks, static_cast<std::size_t>(wave), l2_bytes, run.counts);
    return run.counts;
}

}  // namespace headroom::test
