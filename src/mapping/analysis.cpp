// SPDX-License-Identifier: Apache-2.0
#include "mapping/analysis.h"

#include "mapping/footprint.h"
#include "mapping/grid.h"
#include "mapping/timing.h"

#include <algorithm>

namespace headroom {
namespace {

constexpr std::size_t at(MemoryLevel level) { return static_cast<std::size_t>(level); }

// Resident at once: 16 to 32 by device; each block keeps 1 KiB of shared memory for the system (CUDA C++
// Programming Guide, technical specifications).
constexpr std::int64_t kMostBlocksPerSm = 16;
constexpr std::int64_t kReservedSram = 1024;

struct Context {
    const MappedComputation& nest;
    const Plan& plan;
    const MappingDevice& device;
    Extents extents = whole(nest.computation);

    const Computation& computation() const { return nest.computation; }
    std::int64_t bytes(std::size_t tensor, std::int64_t words) const {
        return word_bytes(words, nest.computation.tensors[tensor].type);
    }
};

TensorTraffic& traffic_of(std::vector<TensorTraffic>& all, std::size_t tensor) {
    for (TensorTraffic& t : all) {
        if (t.tensor == tensor) return t;
    }
    all.push_back({tensor, {}});
    return all.back();
}

void add(Moved& to, const Moved& more) {
    to.reads += more.reads;
    to.writes += more.writes;
}

// Blocks that repeat a statement since a loop over blocks is none of its dimensions.
std::int64_t repetitions(const Statement& s, const Placement& p, Extents extents) {
    const DimensionSet own = dimensions(s);
    std::int64_t n = 1;
    for (const Step& step : p.path) {
        const auto d = static_cast<std::size_t>(step.dimension);
        if (step.over == LoopBinding::blocks && !own[d]) n *= trips(extents[d], step.size);
        extents[d] = std::min(extents[d], step.size);
    }
    return n;
}

std::int64_t tiles(std::span<const Step> path, int dimension, std::int64_t left) {
    if (path.empty()) return 1;
    const Step& step = path.front();
    if (step.dimension != dimension || step.size >= left) return tiles(path.subspan(1), dimension, left);
    const std::int64_t rest = left % step.size;
    return left / step.size * tiles(path.subspan(1), dimension, step.size) +
           (rest > 0 ? tiles(path.subspan(1), dimension, rest) : 0);
}

// Each turn of the loop in which partial results are read corrects every tensor that depends on them once.
std::int64_t rescaling(const Context& c, const Placement& p) {
    const Statement& s = c.computation().statements[static_cast<std::size_t>(p.statement)];
    std::int64_t operations = 0;
    for (const int tensor : s.rescales) {
        for (const Placement& other : c.plan.placements) {
            const Statement& writer = c.computation().statements[static_cast<std::size_t>(other.statement)];
            if (writer.output.tensor != tensor) continue;
            const auto shared = std::span<const Step>(p.path).first(shared_steps(p.path, other.path));
            std::int64_t turns = 1;
            for (std::size_t d = 0; d < kMostDimensions; ++d) {
                if (reduced(s)[d]) turns *= tiles(shared, static_cast<int>(d), c.extents[d]);
            }
            operations += (turns - 1) * volume(writer.output, c.extents);
        }
    }
    return operations;
}

void count_operations(const Context& c, std::size_t kernel, KernelAnalysis& k, Analysis& total) {
    for (const Placement& p : c.plan.placements) {
        if (p.kernel != kernel) continue;
        const Statement& s = c.computation().statements[static_cast<std::size_t>(p.statement)];
        const std::int64_t once = points(s, c.extents);
        if (s.kind == StatementKind::product) {
            k.product_flop += 2 * once;
            continue;
        }
        const std::int64_t repeated = (repetitions(s, p, c.extents) - 1) * s.operations * once;
        const std::int64_t rescaled = rescaling(c, p);
        total.recomputed_operations += repeated;
        total.rescale_operations += rescaled;
        k.vector_operations += s.operations * once + repeated + rescaled;
    }
}

// Buffers are filled from their parent or their tensor's home; both HBM and L2 are reached through L2.
void count_fills(const Context& c, std::size_t kernel, KernelAnalysis& k) {
    for (const Buffer& b : c.plan.buffers) {
        if (b.kernel != kernel || b.at_home) continue;
        const MemoryLevel home = c.nest.mapping.home[b.tensor];
        const MemoryLevel source = b.parent ? c.plan.buffers[*b.parent].level : home;
        const MemoryLevel crossed = source == MemoryLevel::hbm ? MemoryLevel::l2 : source;
        add(traffic_of(k.tensors, b.tensor).words[at(crossed)], moved(b.outside, b, c.extents));
    }
}

// Every point of a statement reads its operands once and writes its output once; sums are read back from
// the second time on.
void count_operands(const Context& c, std::size_t kernel, KernelAnalysis& k) {
    for (const Use& u : c.plan.uses) {
        if (!u.buffer || c.plan.buffers[*u.buffer].kernel != kernel) continue;
        const Buffer& b = c.plan.buffers[*u.buffer];
        const Statement& s = c.computation().statements[static_cast<std::size_t>(u.statement)];
        const auto p = std::find_if(c.plan.placements.begin(), c.plan.placements.end(),
                                    [&](const Placement& x) { return x.statement == u.statement; });
        const std::int64_t repeated = repetitions(s, *p, c.extents);
        const std::int64_t n = repeated * points(s, c.extents);
        const std::int64_t first = repeated * volume(u.access, c.extents);
        add(traffic_of(k.tensors, b.tensor).words[at(b.level)],
            u.output ? Moved{reduced(s).any() ? n - first : 0, n} : Moved{n, 0});
    }
}

void place(const Context& c, std::size_t kernel, KernelAnalysis& k) {
    k.blocks = blocks(c.plan.grids[kernel], c.extents);
    k.sram_bytes = footprint_bytes(c.plan, c.nest, kernel, MemoryLevel::sram);
    k.registers_bytes = footprint_bytes(c.plan, c.nest, kernel, MemoryLevel::registers);
    k.blocks_per_sm = kMostBlocksPerSm;
    const auto limit = [&](std::int64_t room, std::int64_t need) {
        if (room > 0 && need > 0)
            k.blocks_per_sm = std::max<std::int64_t>(1, std::min(k.blocks_per_sm, room / need));
    };
    limit(c.device.sram_per_sm_bytes, k.sram_bytes > 0 ? k.sram_bytes + kReservedSram : 0);
    limit(c.device.registers_per_sm_bytes, k.registers_bytes);
    const std::int64_t slots = c.device.sms * k.blocks_per_sm;
    k.waves = (k.blocks + slots - 1) / slots;
}

// What lives in L2 is not room for anything else.
std::int64_t l2_residents(const Context& c) {
    std::int64_t bytes = 0;
    for (std::size_t t = 0; t < c.computation().tensors.size(); ++t) {
        if (c.nest.mapping.home[t] == MemoryLevel::l2) bytes += tensor_bytes(c.computation(), t);
    }
    return bytes;
}

void count_hbm(const Context& c, std::size_t kernel, std::int64_t l2_room, KernelAnalysis& k) {
    const CacheTraffic cache = cache_traffic(c.plan, c.nest, kernel, c.device.sms * k.blocks_per_sm, l2_room);
    k.waves_kept = cache.waves_kept;
    k.l2_footprint_bytes = cache.l2_bytes;
    for (std::size_t t = 0; t < cache.words.size(); ++t) {
        if (cache.words[t].reads + cache.words[t].writes > 0)
            traffic_of(k.tensors, t).words[at(MemoryLevel::hbm)] = cache.words[t];
    }
}

std::int64_t crossing(const Context& c, const std::vector<TensorTraffic>& tensors, MemoryLevel level) {
    std::int64_t bytes = 0;
    for (const TensorTraffic& t : tensors)
        bytes += c.bytes(t.tensor, t.words[at(level)].reads) + c.bytes(t.tensor, t.words[at(level)].writes);
    return bytes;
}

bool in_hbm(const Context& c, std::size_t tensor) { return c.nest.mapping.home[tensor] == MemoryLevel::hbm; }

bool touches(const KernelAnalysis& k, std::size_t tensor) {
    return std::any_of(k.tensors.begin(), k.tensors.end(), [&](const TensorTraffic& t) {
        return t.tensor == tensor &&
               t.words[at(MemoryLevel::l2)].reads + t.words[at(MemoryLevel::l2)].writes > 0;
    });
}

// A tensor that an earlier kernel touched is still in L2 when all that was touched since fits there.
void keep_between_kernels(const Context& c, std::int64_t l2_room, std::vector<KernelAnalysis>& kernels) {
    for (std::size_t b = 1; b < kernels.size(); ++b) {
        for (TensorTraffic& t : kernels[b].tensors) {
            if (!in_hbm(c, t.tensor)) continue;
            std::size_t a = b;
            while (a > 0 && !touches(kernels[a - 1], t.tensor)) --a;
            if (a == 0) continue;
            std::int64_t between = 0;
            for (std::size_t other = 0; other < c.computation().tensors.size(); ++other) {
                bool seen = false;
                for (std::size_t k = a - 1; k <= b; ++k) seen = seen || touches(kernels[k], other);
                if (seen && in_hbm(c, other)) between += tensor_bytes(c.computation(), other);
            }
            if (between <= l2_room) t.words[at(MemoryLevel::hbm)].reads = 0;
        }
    }
}

void sum_levels(const Context& c, Analysis& a) {
    const std::int64_t residents = l2_residents(c);
    for (std::size_t l = 0; l < a.levels.size(); ++l) {
        LevelTraffic& level = a.levels[l];
        level.level = kMemoryLevels[l].first;
        for (const TensorTraffic& t : a.tensors) {
            level.reads_bytes += c.bytes(t.tensor, t.words[l].reads);
            level.writes_bytes += c.bytes(t.tensor, t.words[l].writes);
        }
    }
    LevelTraffic &hbm = a.levels[0], &l2 = a.levels[1], &sram = a.levels[2], &registers = a.levels[3];
    for (std::size_t t = 0; t < c.computation().tensors.size(); ++t)
        hbm.footprint_bytes += in_hbm(c, t) ? tensor_bytes(c.computation(), t) : 0;
    for (const KernelAnalysis& k : a.kernels) {
        l2.footprint_bytes = std::max(l2.footprint_bytes, residents + k.l2_footprint_bytes);
        sram.footprint_bytes = std::max(sram.footprint_bytes, k.sram_bytes);
        registers.footprint_bytes = std::max(registers.footprint_bytes, k.registers_bytes);
    }
    hbm.capacity_bytes = c.device.hbm_bytes;
    l2.capacity_bytes = c.device.l2_bytes;
    sram.capacity_bytes = c.device.sram_per_block_bytes;
    registers.capacity_bytes = c.device.registers_per_sm_bytes;
    const auto within = [](std::int64_t need, std::int64_t room) { return room == 0 || need <= room; };
    a.fits = within(hbm.footprint_bytes, hbm.capacity_bytes) && within(residents, l2.capacity_bytes) &&
             within(sram.footprint_bytes, sram.capacity_bytes) &&
             within(registers.footprint_bytes, registers.capacity_bytes);
    a.hbm_bytes = hbm.reads_bytes + hbm.writes_bytes;
}

}  // namespace

std::int64_t product_flop(const Computation& computation) {
    std::int64_t sum = 0;
    for (const Statement& s : computation.statements) {
        if (s.kind == StatementKind::product) sum += 2 * points(s, whole(computation));
    }
    return sum;
}

Analysis analyse(const MappedComputation& nest, const MappingDevice& device) {
    return analyse(nest, make_plan(nest), device);
}

Analysis analyse(const MappedComputation& nest, const Plan& plan, const MappingDevice& device) {
    const Context c{nest, plan, device};
    Analysis a;
    const std::int64_t l2_room = std::max<std::int64_t>(0, device.l2_bytes - l2_residents(c));
    for (std::size_t i = 0; i < nest.mapping.kernels.size(); ++i) {
        KernelAnalysis k;
        k.name = nest.mapping.kernels[i].name;
        place(c, i, k);
        count_operations(c, i, k, a);
        count_fills(c, i, k);
        count_operands(c, i, k);
        count_hbm(c, i, l2_room, k);
        a.kernels.push_back(std::move(k));
    }
    keep_between_kernels(c, l2_room, a.kernels);
    for (KernelAnalysis& k : a.kernels) {
        k.hbm_bytes = crossing(c, k.tensors, MemoryLevel::hbm);
        k.l2_bytes = crossing(c, k.tensors, MemoryLevel::l2);
        k.sram_traffic_bytes = crossing(c, k.tensors, MemoryLevel::sram);
        a.product_flop += k.product_flop;
        a.vector_operations += k.vector_operations;
        for (const TensorTraffic& t : k.tensors) {
            TensorTraffic& sum = traffic_of(a.tensors, t.tensor);
            for (std::size_t l = 0; l < sum.words.size(); ++l) add(sum.words[l], t.words[l]);
        }
    }
    sum_levels(c, a);
    time_kernels(nest, device, a);
    return a;
}

}  // namespace headroom
