// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "mapping/analysis.h"
#include "mapping/footprint.h"
#include "mapping/legality.h"
#include "mapping_brute_force.h"

#include <random>

#include <fmt/core.h>

using namespace headroom;
using namespace headroom::test;

namespace {

struct Random {
    std::mt19937 engine;
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
    }
    bool chance(double p) { return std::bernoulli_distribution(p)(engine); }
};

Access access(int tensor, std::vector<Axis> axes) { return {tensor, std::move(axes)}; }

struct Maker {
    Computation c{};
    int dimension(std::int64_t size) {
        c.dimensions.push_back({fmt::format("d{}", c.dimensions.size()), size});
        return static_cast<int>(c.dimensions.size()) - 1;
    }
    Access tensor(std::vector<Axis> axes, ElementType type = ElementType::fp16) {
        const int i = static_cast<int>(c.tensors.size());
        c.tensors.push_back({fmt::format("t{}", i), type, access(i, axes)});
        return c.tensors.back().shape;
    }
    void statement(StatementKind kind, const Access& out, std::vector<Access> in) {
        Statement s;
        s.name = fmt::format("s{}", c.statements.size());
        s.kind = kind;
        s.output = out;
        s.inputs = std::move(in);
        c.statements.push_back(std::move(s));
    }
};

Axis only(int d) { return {{d, 1}}; }

// A product; a strided convolution; two products in a row; a product, a streamed maximum and a sum.
Computation computation(Random& r, std::int64_t kind) {
    Maker m;
    const auto size = [&] { return r.between(1, 7); };
    const int a = m.dimension(size()), b = m.dimension(size()), k = m.dimension(size());
    if (kind == 1) {
        const int w = m.dimension(r.between(1, 3));
        const std::int64_t stride = r.between(1, 3);
        const Access x = m.tensor({only(k), {{a, stride}, {w, 1}}});
        const Access f = m.tensor({only(b), only(k), only(w)}, ElementType::fp8);
        m.statement(StatementKind::product, m.tensor({only(b), only(a)}), {x, f});
        return m.c;
    }
    const Access y = m.tensor({only(a), only(b)});
    const Access x0 = m.tensor({only(a), only(k)});
    const Access x1 = m.tensor({only(k), only(b)}, ElementType::fp8);
    m.statement(StatementKind::product, y, {x0, x1});
    if (kind == 2) {
        const int e = m.dimension(size());
        const Access w = m.tensor({only(b), only(e)});
        m.statement(StatementKind::product, m.tensor({only(a), only(e)}, ElementType::fp32), {y, w});
    }
    if (kind == 3) {
        const Access top = m.tensor({only(a)}, ElementType::fp32);
        const Access sum = m.tensor({only(a)}, ElementType::fp32);
        m.statement(StatementKind::reduction, top, {y});
        m.c.statements.back().streamable = true;
        m.c.statements.back().rescales = {sum.tensor};
        m.statement(StatementKind::reduction, sum, {y, top});
    }
    return m.c;
}

std::vector<Loop> some_loops(Random& r, const Computation& c, bool blocks, bool warps) {
    std::vector<Loop> loops;
    std::vector<int> order(c.dimensions.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::shuffle(order.begin(), order.end(), r.engine);
    for (const int d : order) {
        if (!r.chance(0.5)) continue;
        Loop l{d, -1, r.between(1, 5), LoopBinding::time};
        if (blocks && r.chance(0.6)) l.over = LoopBinding::blocks;
        if (warps && r.chance(0.3)) l.over = LoopBinding::warps;
        loops.push_back(l);
    }
    std::stable_partition(loops.begin(), loops.end(),
                          [](const Loop& l) { return l.over == LoopBinding::blocks; });
    return loops;
}

// A chain of nests down to one statement, with its operands staged somewhere on the way.
Nest chain(Random& r, const Computation& c, const std::vector<MemoryLevel>& home, int statement, bool root,
           const std::vector<int>& staged_outside) {
    const int depth = static_cast<int>(r.between(1, 3));
    std::vector<Nest> levels(static_cast<std::size_t>(depth));
    for (std::size_t i = 0; i < levels.size(); ++i) {
        levels[i].loops = some_loops(r, c, root && i == 0, i > 0 || !root);
    }
    const Statement& s = c.statements[static_cast<std::size_t>(statement)];
    std::vector<int> tensors{s.output.tensor};
    for (const Access& a : s.inputs) tensors.push_back(a.tensor);
    for (const int t : tensors) {
        const bool outside =
            std::find(staged_outside.begin(), staged_outside.end(), t) != staged_outside.end();
        const MemoryLevel at = home[static_cast<std::size_t>(t)];
        if (!outside || (at == MemoryLevel::sram && r.chance(0.5))) {
            const auto i = static_cast<std::size_t>(r.between(0, depth - 1));
            if (at < MemoryLevel::sram) levels[i].stages.push_back({t, MemoryLevel::sram});
            const auto j = static_cast<std::size_t>(r.between(static_cast<std::int64_t>(i), depth - 1));
            if (at == MemoryLevel::sram || r.chance(0.5))
                levels[j].stages.push_back({t, MemoryLevel::registers});
        }
    }
    levels.back().statement = statement;
    for (std::size_t i = levels.size() - 1; i > 0; --i) levels[i - 1].body.push_back(std::move(levels[i]));
    return std::move(levels.front());
}

MappedComputation random_nest(Random& r) {
    const std::int64_t kind = r.between(0, 3);
    MappedComputation nest;
    nest.computation = computation(r, kind);
    Mapping& m = nest.mapping;
    m.home.assign(nest.computation.tensors.size(), MemoryLevel::hbm);
    const auto n = static_cast<int>(nest.computation.statements.size());
    if (n == 1 || r.chance(0.1)) {
        for (int s = 0; s < n; ++s)
            m.kernels.push_back({"k", chain(r, nest.computation, m.home, s, true, {})});
        return nest;
    }
    // One kernel: the tensors between live in SRAM or registers around all of it, some others too.
    Nest root;
    root.loops = some_loops(r, nest.computation, true, false);
    std::vector<int> outside;
    const bool in_sram = r.chance(0.7);
    for (std::size_t t = 0; t < nest.computation.tensors.size(); ++t) {
        const auto tensor = static_cast<int>(t);
        if (tensor == 0) m.home[t] = in_sram ? MemoryLevel::sram : MemoryLevel::registers;
        if (tensor == 0 || r.chance(0.4)) {
            root.stages.push_back({tensor, tensor == 0 ? m.home[t] : MemoryLevel::sram});
            outside.push_back(tensor);
        }
        // the maximum is read by the next statement
        if (kind == 3 && tensor == 3 && root.stages.back().tensor != 3) {
            m.home[t] = MemoryLevel::registers;
            root.stages.push_back({tensor, m.home[t]});
            outside.push_back(tensor);
        }
    }
    for (int s = 0; s < n; ++s) root.body.push_back(chain(r, nest.computation, m.home, s, false, outside));
    m.kernels.push_back({"k", std::move(root)});
    return nest;
}

bool staged_under_warps(const NestPlan& plan) {
    for (const Buffer& b : plan.buffers) {
        if (b.parent || b.at_home) continue;
        for (const Step& s : b.outside) {
            if (s.over == LoopBinding::warps) return true;
        }
    }
    return false;
}

Counts counts_of(const KernelAnalysis& k) {
    Counts counts;
    for (const TensorTraffic& t : k.tensors) {
        for (const auto& [level, name] : kMemoryLevels) {
            const Moved& w = t.words[static_cast<std::size_t>(level)];
            if (w.reads + w.writes > 0) counts[{static_cast<int>(t.tensor), level}] = {w.reads, w.writes};
        }
    }
    return counts;
}

std::string text(const Counts& counts) {
    std::string all;
    for (const auto& [key, n] : counts) {
        if (n.reads + n.writes > 0)
            all += fmt::format("t{} {}: {} {}\n", key.first,
                               kMemoryLevels[static_cast<std::size_t>(key.second)].second, n.reads, n.writes);
    }
    return all;
}

std::string text(const Nest& n, int indent = 0) {
    std::string all(static_cast<std::size_t>(indent), ' ');
    for (const Loop& l : n.loops)
        all += fmt::format("{} d{} by {}, ", kLoopBindings[static_cast<std::size_t>(l.over)].second,
                           l.dimension, l.size);
    for (const Stage& s : n.stages)
        all += fmt::format("[t{} {}] ", s.tensor, kMemoryLevels[static_cast<std::size_t>(s.level)].second);
    all += n.statement >= 0 ? fmt::format("s{}\n", n.statement) : "\n";
    for (const Nest& inner : n.body) all += text(inner, indent + 2);
    return all;
}

}  // namespace

TEST_CASE("the closed forms count what running the loops counts", "[mapping][physics]") {
    Random r{std::mt19937(20261129)};
    int legal = 0, fused = 0, uneven = 0;
    for (int attempt = 0; attempt < 400000 && legal < 3000; ++attempt) {
        const MappedComputation nest = random_nest(r);
        const NestPlan plan = make_plan(nest);
        if (!mapping_faults(nest, plan).empty()) continue;
        ++legal;
        fused += nest.mapping.kernels.size() == 1 && nest.computation.statements.size() > 1 ? 1 : 0;
        MappingDevice device;
        device.sms = r.between(1, 4);
        device.hbm = Bandwidth(1);
        device.hbm_per_sm = device.l2_per_sm = device.sram_per_sm = Bandwidth(1);
        const std::int64_t total_flop = product_flop(nest.computation);
        for (std::size_t k = 0; k < nest.mapping.kernels.size(); ++k) {
            // Room for nothing, for just the first wave, for half as much again, for two and for all.
            const std::int64_t per_sm = 16;  // no SRAM limit on this device
            const std::int64_t wave = device.sms * per_sm;
            const std::int64_t first = cache_traffic(plan, nest, k, wave, {0}).l2_bytes;
            const std::int64_t factor = r.between(0, 4);
            const std::int64_t l2 = factor == 4 ? 1 << 30 : first * factor / 2;
            const bool modelled = l2 == 0 ? !staged_under_warps(plan) : l2 >= first;
            device.l2_bytes = 0;
            KernelAnalysis found = analyse(nest, plan, device).kernels[k];
            for (TensorTraffic& t : found.tensors) t.words[0] = {};
            const CacheTraffic cache = cache_traffic(plan, nest, k, wave, {l2});
            Counts fast = counts_of(found);
            for (std::size_t t = 0; modelled && t < cache.words.size(); ++t) {
                const Moved& w = cache.words[t];
                if (w.reads + w.writes > 0)
                    fast[{static_cast<int>(t), MemoryLevel::hbm}] = {w.reads, w.writes};
            }
            const Counts slow = run_kernel(nest, k, wave, modelled ? l2 : -1);
            if (text(fast) == text(slow)) continue;
            std::string sizes;
            for (const LoopDimension& d : nest.computation.dimensions) sizes += fmt::format("{} ", d.size);
            INFO("sizes " << sizes << " wave " << wave << " l2 " << l2 << "\n"
                          << text(nest.mapping.kernels[k].nest));
            CHECK(text(fast) == text(slow));
            return;
        }
        CHECK(analyse(nest, plan, device).product_flop == total_flop);
        for (const Buffer& b : plan.buffers) {
            for (const Step& s : b.outside)
                uneven +=
                    nest.computation.dimensions[static_cast<std::size_t>(s.dimension)].size % s.size != 0;
        }
    }
    CHECK(legal == 3000);
    CHECK(fused > 100);
    CHECK(uneven > 1000);
}
