// SPDX-License-Identifier: Apache-2.0
#include "mapping/analysis.h"

#include "mapping/footprint.h"
#include "mapping/grid.h"
#include "mapping/timing.h"

#include <algorithm>
#include <set>

namespace headroom {
namespace {

constexpr std::size_t at(MemoryLevel level) { return static_cast<std::size_t>(level); }

// Resident at once: 16 to 32 by device; each block keeps 1 KiB of shared memory for the system (CUDA C++
// Programming Guide, technical specifications).
constexpr std::int64_t kMostBlocksPerSm = 16;
constexpr std::int64_t kReservedSram = 1024;
// 32 threads of at most 255 registers of 4 bytes; a block has at most 1024 threads (ibid.).
constexpr std::int64_t kRegistersPerWarp = std::int64_t{32} * 255 * 4;
constexpr std::int64_t kMostWarps = 32;

// A capacity of 0 is not known.
bool within(std::int64_t need, std::int64_t room) { return room == 0 || need <= room; }

struct Context {
    const MappedComputation& nest;
    const NestPlan& plan;
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

void count_operations(const Context& c, std::size_t kernel, KernelAnalysis& k) {
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
        k.recomputed_operations += repeated;
        k.rescale_operations += rescaled;
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

// What lives in L2 is not room for anything else.
std::int64_t l2_residents(const Context& c) {
    std::int64_t bytes = 0;
    for (std::size_t t = 0; t < c.computation().tensors.size(); ++t) {
        if (c.nest.mapping.home[t] == MemoryLevel::l2) bytes += tensor_bytes(c.computation(), t);
    }
    return bytes;
}

bool in_hbm(const Context& c, std::size_t tensor) { return c.nest.mapping.home[tensor] == MemoryLevel::hbm; }

std::set<std::size_t> touched(const Context& c, std::size_t kernel) {
    std::set<std::size_t> tensors;
    for (const Buffer& b : c.plan.buffers) {
        if (b.kernel == kernel && !b.at_home && !b.parent && in_hbm(c, b.tensor)) tensors.insert(b.tensor);
    }
    return tensors;
}

// A tensor that an earlier kernel touched is still in L2 when all that was touched since fits there.
bool kept(const Context& c, std::size_t kernel, std::size_t tensor, std::int64_t l2_room) {
    std::set<std::size_t> between = touched(c, kernel);
    for (std::size_t earlier = kernel; earlier-- > 0;) {
        const std::set<std::size_t> there = touched(c, earlier);
        between.insert(there.begin(), there.end());
        if (there.count(tensor) == 0) continue;
        std::int64_t bytes = 0;
        for (const std::size_t t : between) bytes += tensor_bytes(c.computation(), t);
        return bytes <= l2_room;
    }
    return false;
}

void count_hbm(const Context& c, std::size_t kernel, KernelAnalysis& k) {
    const std::int64_t room = std::max<std::int64_t>(0, c.device.l2_bytes - l2_residents(c));
    const auto for_next = static_cast<std::int64_t>(c.device.l2_kept * static_cast<double>(room));
    const CacheTraffic cache = cache_traffic(c.plan, c.nest, kernel, c.device.sms * k.blocks_per_sm,
                                             {room, c.device.l2_copies, c.device.uneven});
    k.waves_kept = cache.waves_kept;
    k.l2_footprint_bytes = cache.l2_bytes;
    for (std::size_t t = 0; t < cache.words.size(); ++t) {
        Moved words = cache.words[t];
        if (words.reads > 0 && kept(c, kernel, t, for_next)) words.reads = 0;
        if (words.reads + words.writes > 0) traffic_of(k.tensors, t).words[at(MemoryLevel::hbm)] = words;
    }
}

std::int64_t crossing(const Context& c, const std::vector<TensorTraffic>& tensors, MemoryLevel level) {
    std::int64_t bytes = 0;
    for (const TensorTraffic& t : tensors)
        bytes += c.bytes(t.tensor, t.words[at(level)].reads) + c.bytes(t.tensor, t.words[at(level)].writes);
    return bytes;
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
    a.fits = within(hbm.footprint_bytes, hbm.capacity_bytes) && within(residents, l2.capacity_bytes) &&
             std::all_of(a.kernels.begin(), a.kernels.end(), [](const KernelAnalysis& k) { return k.fits; });
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

Placed place(const MappedComputation& nest, const NestPlan& plan, const MappingDevice& device,
             std::size_t kernel) {
    Placed p;
    p.blocks = blocks(plan.grids[kernel], whole(nest.computation));
    p.sram_bytes = footprint_bytes(plan, nest, kernel, MemoryLevel::sram);
    p.registers_bytes = footprint_bytes(plan, nest, kernel, MemoryLevel::registers);
    p.blocks_per_sm = kMostBlocksPerSm;
    const auto limit = [&](std::int64_t room, std::int64_t need) {
        if (room > 0 && need > 0)
            p.blocks_per_sm = std::max<std::int64_t>(1, std::min(p.blocks_per_sm, room / need));
    };
    limit(device.sram_per_sm_bytes, p.sram_bytes > 0 ? p.sram_bytes + kReservedSram : 0);
    limit(device.registers_per_sm_bytes, p.registers_bytes);
    const std::int64_t warps = most_warps(plan, nest, kernel);
    p.fits = within(p.sram_bytes, device.sram_per_block_bytes) &&
             within(p.registers_bytes, device.registers_per_sm_bytes) && warps <= kMostWarps &&
             (warps == 1 || p.registers_bytes <= warps * kRegistersPerWarp);
    return p;
}

KernelAnalysis analyse_on_chip(const MappedComputation& nest, const NestPlan& plan,
                               const MappingDevice& device, std::size_t kernel) {
    const Context c{nest, plan, device};
    KernelAnalysis k;
    k.name = nest.mapping.kernels[kernel].name;
    const Placed placed = place(nest, plan, device, kernel);
    k.blocks = placed.blocks;
    k.blocks_per_sm = placed.blocks_per_sm;
    k.sram_bytes = placed.sram_bytes;
    k.registers_bytes = placed.registers_bytes;
    k.fits = placed.fits;
    const std::int64_t slots = device.sms * k.blocks_per_sm;
    k.waves = (k.blocks + slots - 1) / slots;
    count_operations(c, kernel, k);
    count_fills(c, kernel, k);
    count_operands(c, kernel, k);
    k.l2_bytes = crossing(c, k.tensors, MemoryLevel::l2);
    k.sram_traffic_bytes = crossing(c, k.tensors, MemoryLevel::sram);
    expect_time(nest, device, kernel, k);
    return k;
}

KernelAnalysis analyse_kernel(const MappedComputation& nest, const NestPlan& plan,
                              const MappingDevice& device, std::size_t kernel) {
    KernelAnalysis k = analyse_on_chip(nest, plan, device, kernel);
    const Context c{nest, plan, device};
    count_hbm(c, kernel, k);
    k.hbm_bytes = crossing(c, k.tensors, MemoryLevel::hbm);
    expect_time(nest, device, kernel, k);
    return k;
}

Analysis analyse(const MappedComputation& nest, const NestPlan& plan, const MappingDevice& device) {
    Analysis a;
    for (std::size_t i = 0; i < nest.mapping.kernels.size(); ++i) {
        KernelAnalysis k = analyse_kernel(nest, plan, device, i);
        a.product_flop += k.product_flop;
        a.vector_operations += k.vector_operations;
        a.recomputed_operations += k.recomputed_operations;
        a.rescale_operations += k.rescale_operations;
        for (const TensorTraffic& t : k.tensors) {
            TensorTraffic& sum = traffic_of(a.tensors, t.tensor);
            for (std::size_t l = 0; l < sum.words.size(); ++l) add(sum.words[l], t.words[l]);
        }
        a.kernels.push_back(std::move(k));
    }
    sum_levels({nest, plan, device}, a);
    time_kernels(nest, device, a);
    return a;
}

}  // namespace headroom
