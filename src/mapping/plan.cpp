// SPDX-License-Identifier: Apache-2.0
#include "mapping/plan.h"

#include <algorithm>

namespace headroom {
namespace {

bool same(const Access& a, const Access& b) {
    const auto same_term = [](const IndexTerm& x, const IndexTerm& y) {
        return x.dimension == y.dimension && x.factor == y.factor;
    };
    return std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(),
                      [&](const Axis& x, const Axis& y) {
                          return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_term);
                      });
}

struct Builder {
    const MappedComputation& nest;
    NestPlan plan;
    std::size_t kernel = 0;
    int loops = 0;
    Path path;
    std::vector<std::size_t> held;  // buffers around the place that is being visited

    std::optional<std::size_t> holding(std::size_t tensor) const {
        for (auto b = held.rbegin(); b != held.rend(); ++b) {
            if (plan.buffers[*b].tensor == tensor) return *b;
        }
        return std::nullopt;
    }

    void use(int statement, const Access& access, bool output) {
        const bool sums =
            output && reduced(nest.computation.statements[static_cast<std::size_t>(statement)]).any();
        const auto buffer = holding(static_cast<std::size_t>(access.tensor));
        plan.uses.push_back({statement, output, access, buffer});
        for (auto at = buffer; at; at = plan.buffers[*at].parent) {
            Buffer& b = plan.buffers[*at];
            (output ? b.written : b.read) = true;
            b.accumulates |= sums;
            b.indexed |= dimensions(access);
            if (std::none_of(b.accesses.begin(), b.accesses.end(),
                             [&](const Access& a) { return same(a, access); }))
                b.accesses.push_back(access);
            if (b.at_home) break;
        }
    }

    std::size_t visit(const Nest& n) {
        const std::size_t node = plan.nodes.size();
        plan.nodes.emplace_back();
        const std::size_t steps = path.size();
        const std::size_t outer = held.size();
        for (const Loop& l : n.loops)
            path.push_back({loops++, l.dimension, l.factor, tile_size(nest.mapping, l), l.over});
        for (const Stage& s : n.stages) {
            Buffer b;
            b.kernel = kernel;
            b.tensor = static_cast<std::size_t>(s.tensor);
            b.level = s.level;
            b.parent = holding(b.tensor);
            b.at_home = s.level == nest.mapping.home[b.tensor];
            b.outside = path;
            b.copies = s.level == MemoryLevel::sram ? n.buffers : 1;
            held.push_back(plan.buffers.size());
            plan.nodes[node].buffers.push_back(plan.buffers.size());
            plan.buffers.push_back(std::move(b));
        }
        if (n.statement >= 0) {
            const Statement& s = nest.computation.statements[static_cast<std::size_t>(n.statement)];
            plan.placements.push_back({n.statement, kernel, path});
            for (const Access& input : s.inputs) use(n.statement, input, false);
            use(n.statement, s.output, true);
        }
        for (const Nest& inner : n.body) {
            const std::size_t child = visit(inner);
            plan.nodes[node].children.push_back(child);
        }
        path.resize(steps);
        held.resize(outer);
        return node;
    }
};

void rebind(Path& path, const Mapping& mapping) {
    for (Step& step : path) {
        if (step.factor >= 0) step.size = mapping.tiles[static_cast<std::size_t>(step.factor)].value;
    }
}

}  // namespace

NestPlan make_plan(const MappedComputation& nest) {
    Builder builder{nest, {}, 0, 0, {}, {}};
    for (const NestKernel& kernel : nest.mapping.kernels) {
        Path grid;
        int loop = builder.loops;
        for (const Loop& l : kernel.nest.loops) {
            if (l.over == LoopBinding::blocks)
                grid.push_back({loop, l.dimension, l.factor, tile_size(nest.mapping, l), l.over});
            ++loop;
        }
        builder.plan.grids.push_back(std::move(grid));
        const std::size_t root = builder.visit(kernel.nest);
        builder.plan.roots.push_back(root);
        ++builder.kernel;
    }
    return std::move(builder.plan);
}

void rebind(NestPlan& plan, const Mapping& mapping) {
    for (Buffer& b : plan.buffers) rebind(b.outside, mapping);
    for (Placement& p : plan.placements) rebind(p.path, mapping);
    for (Path& g : plan.grids) rebind(g, mapping);
}

Extents inside(const Path& path, Extents extents) {
    for (const Step& step : path) {
        std::int64_t& extent = extents[static_cast<std::size_t>(step.dimension)];
        extent = std::min(extent, step.size);
    }
    return extents;
}

std::size_t shared_steps(const Path& a, const Path& b) {
    std::size_t n = 0;
    while (n < a.size() && n < b.size() && a[n].loop == b[n].loop) ++n;
    return n;
}

}  // namespace headroom
