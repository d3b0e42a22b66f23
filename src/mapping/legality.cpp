// SPDX-License-Identifier: Apache-2.0
#include "mapping/legality.h"

#include "base/diagnostic.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {
namespace {

struct Turn {
    Step step;
    std::int64_t trips = 1;
};

struct Checker {
    const MappedComputation& nest;
    const NestPlan& plan;
    std::vector<std::string> faults{};

    const Statement& statement(int i) const {
        return nest.computation.statements[static_cast<std::size_t>(i)];
    }
    const std::string& tensor(std::size_t i) const { return nest.computation.tensors[i].name; }
    const std::string& dimension(const Step& s) const {
        return nest.computation.dimensions[static_cast<std::size_t>(s.dimension)].name;
    }
    MemoryLevel home(int t) const { return nest.mapping.home[static_cast<std::size_t>(t)]; }
    bool on_chip(int t) const { return home(t) == MemoryLevel::sram || home(t) == MemoryLevel::registers; }
    template <class... Args>
    void fault(fmt::format_string<Args...> text, Args&&... args) {
        std::string message = fmt::format(text, std::forward<Args>(args)...);
        if (std::find(faults.begin(), faults.end(), message) == faults.end())
            faults.push_back(std::move(message));
    }

    // The loops of a path with how often each turns (at most).
    std::vector<Turn> turns(const Path& path) const {
        Extents left = whole(nest.computation);
        std::vector<Turn> all;
        for (const Step& step : path) {
            std::int64_t& extent = left[static_cast<std::size_t>(step.dimension)];
            all.push_back({step, trips(extent, step.size)});
            extent = std::min(extent, step.size);
        }
        return all;
    }

    void every_statement_once() {
        for (std::size_t s = 0; s < nest.computation.statements.size(); ++s) {
            const auto n = std::count_if(plan.placements.begin(), plan.placements.end(),
                                         [&](const auto& p) { return p.statement == static_cast<int>(s); });
            const std::string& name = nest.computation.statements[s].name;
            if (n != 1) fault("statement {} stands {} times in the nests, it must stand once", name, n);
        }
    }

    void loops_are_placed(const Path& path, const std::string& where) {
        bool below_blocks = false;
        Extents left = whole(nest.computation);
        Extents cut;  // what an outer loop over blocks left over, of each dimension
        cut.fill(0);
        for (const Step& step : path) {
            const auto d = static_cast<std::size_t>(step.dimension);
            if (step.over == LoopBinding::blocks) {
                if (below_blocks)
                    fault("{}: the loop over blocks of {} must be outside all others", where,
                          dimension(step));
                if (cut[d] != 0)
                    fault("{}: {} is cut over blocks twice, and its outer tile does not divide it", where,
                          dimension(step));
                cut[d] = step.size < left[d] ? left[d] % step.size : 0;
                left[d] = std::min(left[d], step.size);
                continue;
            }
            below_blocks = true;
        }
    }

    void grids_are_at_the_root() {
        for (const Placement& p : plan.placements) {
            const Path& grid = plan.grids[p.kernel];
            const auto n = static_cast<std::size_t>(std::count_if(
                p.path.begin(), p.path.end(), [](const Step& s) { return s.over == LoopBinding::blocks; }));
            if (n != grid.size() || shared_steps(grid, p.path) < n)
                fault("kernel {}: loops over blocks belong to its outermost nest",
                      nest.mapping.kernels[p.kernel].name);
        }
    }

    // A loop that is none of a statement's dimensions would run it again; over a dimension that is summed,
    // blocks and warps would race.
    void loops_are_the_statements_own(const Placement& p) {
        const Statement& s = statement(p.statement);
        const DimensionSet own = dimensions(s);
        for (const Turn& t : turns(p.path)) {
            if (t.trips == 1) continue;
            const auto d = static_cast<std::size_t>(t.step.dimension);
            const bool parallel = t.step.over != LoopBinding::time;
            const bool private_copy = t.step.over == LoopBinding::blocks && on_chip(s.output.tensor) &&
                                      s.kind != StatementKind::product;
            if (!own[d] && !private_copy)
                fault("{} would run {} times: it has no dimension {}", s.name, t.trips, dimension(t.step));
            if (reduced(s)[d] && parallel)
                fault("{} sums over {}, which blocks or warps share: split it into a dimension of its own",
                      s.name, dimension(t.step));
            if (s.scan == t.step.dimension && parallel)
                fault("{} carries its result along {}, which must run in time", s.name, dimension(t.step));
        }
    }

    // The loops outside a tile move every access to it alike.
    bool moves_alike(const Path& path, const Access& a, const Access& b) const {
        for (const Turn& t : turns(path)) {
            if (t.trips == 1) continue;
            for (std::size_t axis = 0; axis < a.axes.size(); ++axis) {
                const auto factor = [&](const Access& x) {
                    std::int64_t sum = 0;
                    for (const IndexTerm& term : x.axes[axis])
                        sum += term.dimension == t.step.dimension ? term.factor : 0;
                    return sum;
                };
                if (factor(a) != factor(b)) return false;
            }
        }
        return true;
    }

    void buffers_are_placed() {
        for (const Buffer& b : plan.buffers) {
            const std::string& name = tensor(b.tensor);
            const MemoryLevel from = b.parent ? plan.buffers[*b.parent].level : nest.mapping.home[b.tensor];
            if (b.accesses.empty()) fault("{} is staged where nothing uses it", name);
            if (!b.at_home && b.level <= from) fault("{} is staged no nearer than it already is", name);
            if (b.at_home && b.parent) fault("{} is staged farther than it already is", name);
            if (b.level == MemoryLevel::sram &&
                std::any_of(b.outside.begin(), b.outside.end(),
                            [](const Step& s) { return s.over == LoopBinding::warps; }))
                fault("{} is staged in SRAM inside a loop over warps, which share SRAM", name);
            for (const Access& a : b.accesses) {
                if (!moves_alike(b.outside, b.accesses.front(), a))
                    fault("{} is indexed in two ways that do not fit one tile: stage it for each use", name);
            }
        }
    }

    void operands_are_held() {
        for (const Use& u : plan.uses) {
            const std::string& name = tensor(static_cast<std::size_t>(u.access.tensor));
            if (!u.buffer) {
                fault("{} uses {}, which is staged neither in SRAM nor in registers",
                      statement(u.statement).name, name);
                continue;
            }
            std::size_t outermost = *u.buffer;
            while (plan.buffers[outermost].parent && !plan.buffers[outermost].at_home)
                outermost = *plan.buffers[outermost].parent;
            if (!on_chip(u.access.tensor)) continue;
            if (!plan.buffers[outermost].at_home)
                fault("{} lives in {} and is not staged there around {}", name,
                      kMemoryLevels[static_cast<std::size_t>(home(u.access.tensor))].second,
                      statement(u.statement).name);
        }
        for (std::size_t t = 0; t < nest.computation.tensors.size(); ++t) {
            const auto homes = std::count_if(plan.buffers.begin(), plan.buffers.end(),
                                             [&](const Buffer& b) { return b.tensor == t && b.at_home; });
            if (homes > 1) fault("{} never leaves its tile, so it must be staged in one place", tensor(t));
        }
    }

    // Consumers of what `producer` has only partly summed, inside the loops over its sum.
    void partial_results_are_rescaled(const Placement& producer, const Statement& source, int tainted,
                                      const DimensionSet& open, std::size_t shared, int depth) {
        for (const Placement& p : plan.placements) {
            const Statement& s = statement(p.statement);
            const bool reads = std::any_of(s.inputs.begin(), s.inputs.end(),
                                           [&](const Access& a) { return a.tensor == tainted; });
            if (!reads) continue;
            if (shared_steps(p.path, producer.path) < shared) {
                if (tainted == source.output.tensor) continue;  // final by then
                fault("{} reads {} after the loop in which {} was not final yet", s.name,
                      tensor(static_cast<std::size_t>(tainted)), source.name);
                continue;
            }
            const bool rescaled = std::find(source.rescales.begin(), source.rescales.end(),
                                            s.output.tensor) != source.rescales.end();
            if ((reduced(s) & open).any()) {
                if (!rescaled)
                    fault("{} accumulates {} from partial results of {}, which does not rescale it", s.name,
                          tensor(static_cast<std::size_t>(s.output.tensor)), source.name);
                continue;
            }
            if (rescaled) continue;
            if (!on_chip(s.output.tensor))
                fault("{} would leave the chip before {} is final",
                      tensor(static_cast<std::size_t>(s.output.tensor)), source.name);
            if (depth > 0)
                partial_results_are_rescaled(producer, source, s.output.tensor, open, shared, depth - 1);
        }
    }

    void results_are_final(std::size_t producer) {
        const Placement& p = plan.placements[producer];
        const Statement& s = statement(p.statement);
        for (std::size_t i = 0; i < plan.placements.size(); ++i) {
            const Placement& c = plan.placements[i];
            const Statement& consumer = statement(c.statement);
            const auto read = std::find_if(consumer.inputs.begin(), consumer.inputs.end(),
                                           [&](const Access& a) { return a.tensor == s.output.tensor; });
            if (read == consumer.inputs.end() || i == producer) continue;
            const std::string& name = tensor(static_cast<std::size_t>(s.output.tensor));
            if (i < producer) fault("{} reads {} before {} has made it", consumer.name, name, s.name);
            if (c.kernel != p.kernel) continue;
            std::size_t open_steps = 0;
            const std::vector<Turn> all = turns(p.path);
            const std::size_t shared = shared_steps(p.path, c.path);
            DimensionSet open;
            for (std::size_t n = 0; n < shared; ++n) {
                const auto d = static_cast<std::size_t>(all[n].step.dimension);
                if (all[n].trips == 1 || !reduced(s)[d]) continue;
                open.set(d);
                open_steps = n + 1;
            }
            if (!moves_alike(Path(p.path.begin(), p.path.begin() + static_cast<std::ptrdiff_t>(shared)),
                             s.output, *read))
                fault("{} reads other parts of {} than {} has made by then", consumer.name, name, s.name);
            if (open.none()) continue;
            if (!s.streamable) {
                fault("{} reads {} before {} has summed all of it, and the sum is not streamable",
                      consumer.name, name, s.name);
            } else {
                partial_results_are_rescaled(p, s, s.output.tensor, open, open_steps,
                                             static_cast<int>(plan.placements.size()));
            }
        }
    }
};

}  // namespace

std::vector<std::string> mapping_faults(const MappedComputation& nest) {
    return mapping_faults(nest, make_plan(nest));
}

std::vector<std::string> mapping_faults(const MappedComputation& nest, const NestPlan& plan) {
    Checker check{nest, plan};
    check.every_statement_once();
    check.grids_are_at_the_root();
    for (const Placement& p : plan.placements) {
        check.loops_are_placed(p.path, check.statement(p.statement).name);
        check.loops_are_the_statements_own(p);
    }
    check.buffers_are_placed();
    check.operands_are_held();
    for (std::size_t p = 0; p < plan.placements.size(); ++p) check.results_are_final(p);
    return check.faults;
}

}  // namespace headroom
