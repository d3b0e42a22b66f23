// SPDX-License-Identifier: Apache-2.0
#include "mapping/search_space.h"

#include <algorithm>
#include <numeric>

namespace headroom {
namespace {

void visit(const Nest& n, const auto& f) {
    f(n);
    for (const Nest& inner : n.body) visit(inner, f);
}

void time_order(const Nest& n, std::vector<int>& order) {
    for (const Loop& l : n.loops) {
        if (l.over == LoopBinding::time) order.push_back(l.dimension);
    }
    for (const Nest& inner : n.body) time_order(inner, order);
}

}  // namespace

TileValues tile_values(const MappedComputation& nest, std::size_t factor) {
    const TileFactor& t = nest.mapping.tiles[factor];
    if (!t.searched) return {t.value};
    std::int64_t largest = 1;
    for (const NestKernel& k : nest.mapping.kernels) {
        visit(k.nest, [&](const Nest& n) {
            for (const Loop& l : n.loops) {
                if (l.factor == static_cast<int>(factor))
                    largest = std::max(
                        largest, nest.computation.dimensions[static_cast<std::size_t>(l.dimension)].size);
            }
        });
    }
    TileValues values;
    for (std::int64_t v = std::min(t.granule, largest); v < largest; v *= 2) {
        values.push_back(v);
        if (v * 3 / 2 < largest && v > t.granule) values.push_back(v * 3 / 2);
    }
    values.push_back(largest);
    return values;
}

std::set<std::size_t> tile_factors(const Nest& nest) {
    std::set<std::size_t> used;
    visit(nest, [&](const Nest& n) {
        for (const Loop& l : n.loops) {
            if (l.factor >= 0) used.insert(static_cast<std::size_t>(l.factor));
        }
    });
    return used;
}

std::vector<Nest> loop_orders(const Nest& n) {
    std::vector<std::vector<Loop>> loops{{}};
    for (std::size_t from = 0; from < n.loops.size();) {
        std::size_t to = from + 1;
        while (to < n.loops.size() && n.loops[to].over == n.loops[from].over) ++to;
        std::vector<std::size_t> order(to - from);
        std::iota(order.begin(), order.end(), from);
        std::vector<std::vector<Loop>> longer;
        do {
            bool kept = true;
            for (std::size_t i = 0; i < order.size(); ++i) {
                for (std::size_t j = i + 1; j < order.size(); ++j) {
                    const bool same = n.loops[order[i]].dimension == n.loops[order[j]].dimension;
                    if (order[i] > order[j] && (same || n.loops[from].over == LoopBinding::warps))
                        kept = false;
                }
            }
            for (std::size_t i = 0; kept && i < loops.size(); ++i) {
                longer.push_back(loops[i]);
                for (const std::size_t at : order) longer.back().push_back(n.loops[at]);
            }
        } while (std::next_permutation(order.begin(), order.end()));
        loops = std::move(longer);
        from = to;
    }
    std::vector<Nest> all;
    for (std::vector<Loop>& order : loops) {
        all.push_back(n);
        all.back().loops = std::move(order);
    }
    for (std::size_t child = 0; child < n.body.size(); ++child) {
        std::vector<Nest> more;
        for (const Nest& inner : loop_orders(n.body[child])) {
            for (Nest variant : all) {
                variant.body[child] = inner;
                more.push_back(std::move(variant));
            }
        }
        all = std::move(more);
    }
    return all;
}

std::vector<int> time_order(const Nest& nest) {
    std::vector<int> order;
    time_order(nest, order);
    return order;
}

}  // namespace headroom
