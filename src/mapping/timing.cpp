// SPDX-License-Identifier: Apache-2.0
#include "mapping/timing.h"

#include "mapping/footprint.h"

#include <algorithm>
#include <set>
#include <utility>

namespace headroom {
namespace {

// The wider of the two operand types is what the product is computed in.
ElementType compute_type(const Computation& computation, const Statement& s) {
    ElementType widest = computation.tensors[static_cast<std::size_t>(s.inputs.front().tensor)].type;
    for (const Access& input : s.inputs) {
        const ElementType type = computation.tensors[static_cast<std::size_t>(input.tensor)].type;
        if (bits(type) > bits(widest)) widest = type;
    }
    return widest;
}

std::vector<const Statement*> statements_of(const MappedComputation& nest, const Nest& n) {
    std::vector<const Statement*> all;
    if (n.statement >= 0) all.push_back(&nest.computation.statements[static_cast<std::size_t>(n.statement)]);
    for (const Nest& inner : n.body) {
        for (const Statement* s : statements_of(nest, inner)) all.push_back(s);
    }
    return all;
}

Seconds product_time(const MappedComputation& nest, const MappingDevice& device, std::size_t kernel) {
    Seconds time;
    const Extents extents = whole(nest.computation);
    for (const Statement* s : statements_of(nest, nest.mapping.kernels[kernel].nest)) {
        if (s->kind != StatementKind::product) continue;
        const FlopRate peak = device.matrix(compute_type(nest.computation, *s));
        if (peak > FlopRate{}) time += 2.0 * static_cast<double>(points(*s, extents)) * flop / peak;
    }
    return time;
}

Bytes as_bytes(std::int64_t n) { return Bytes(static_cast<double>(n)); }

// `seen` are the tensors that earlier kernels have touched.
Bytes least_hbm_bytes(const MappedComputation& nest, const MappingDevice& device, const KernelAnalysis& k,
                      std::set<std::size_t>& seen) {
    std::int64_t cold = 0;
    std::int64_t cacheable = 0;
    constexpr auto kL2 = static_cast<std::size_t>(MemoryLevel::l2);
    for (const TensorTraffic& t : k.tensors) {
        if (nest.mapping.home[t.tensor] != MemoryLevel::hbm) continue;
        const std::int64_t size = tensor_bytes(nest.computation, t.tensor);
        if (t.words[kL2].writes > 0)
            cacheable += size;
        else if (t.words[kL2].reads > 0)
            (seen.count(t.tensor) > 0 ? cacheable : cold) += size;
    }
    for (const TensorTraffic& t : k.tensors) seen.insert(t.tensor);
    const std::int64_t least = cold + std::max<std::int64_t>(0, cacheable - device.l2_bytes);
    return as_bytes(std::min(least, k.hbm_bytes));
}

struct Part {
    Seconds time;
    const char* name;
};

// SMs that the last round leaves idle: blocks / (rounds x SMs) of the machine works on average.
double evenness(const MappingDevice& device, std::int64_t blocks) {
    const std::int64_t rounds = (blocks + device.sms - 1) / device.sms;
    return static_cast<double>(blocks) / static_cast<double>(rounds * device.sms);
}

Part longest(const MappingDevice& device, const KernelAnalysis& k, Seconds products) {
    const double busy = static_cast<double>(std::min(k.blocks, device.sms));
    const double even = evenness(device, k.blocks);
    std::vector<Part> parts{
        {products / device.matrix_share / even, "compute"},
        {as_bytes(k.hbm_bytes) / min(device.hbm_share * device.hbm, busy * device.hbm_per_sm), "memory"},
        {as_bytes(k.l2_bytes) / (busy * device.l2_per_sm), "l2"},
        {as_bytes(k.sram_traffic_bytes) / (busy * device.sram_per_sm), "sram"},
    };
    // The vector peak counts a fused multiply-add as two.
    if (device.vector > FlopRate{}) {
        const Flops work(static_cast<double>(k.vector_operations));
        parts.push_back({work / (0.5 * device.vector) / even, "vector"});
    }
    return *std::max_element(parts.begin(), parts.end(),
                             [](const Part& a, const Part& b) { return a.time < b.time; });
}

}  // namespace

void expect_time(const MappedComputation& nest, const MappingDevice& device, std::size_t kernel,
                 KernelAnalysis& k) {
    const Part part = longest(device, k, product_time(nest, device, kernel));
    k.expected = part.time + device.launch;
    k.bound = part.time < device.launch ? "overhead" : part.name;
}

Seconds least_expected(const MappedComputation& nest, const NestPlan& plan, const MappingDevice& device,
                       std::size_t kernel, const Placed& placed) {
    const double even = evenness(device, placed.blocks);
    Seconds least = product_time(nest, device, kernel) / device.matrix_share / even;
    std::int64_t cold = 0, operations = 0;
    std::set<std::size_t> counted;
    const auto counts = [](const Buffer& b, std::size_t k, std::size_t t) {
        return b.kernel == k && b.tensor == t && !b.parent && !b.at_home;
    };
    for (const Buffer& b : plan.buffers) {
        if (!counts(b, kernel, b.tensor) || nest.mapping.home[b.tensor] != MemoryLevel::hbm) continue;
        const bool seen = std::any_of(plan.buffers.begin(), plan.buffers.end(), [&](const Buffer& earlier) {
            return earlier.kernel < kernel && counts(earlier, earlier.kernel, b.tensor);
        });
        if (!seen && counted.insert(b.tensor).second) cold += tensor_bytes(nest.computation, b.tensor);
    }
    for (const Statement* s : statements_of(nest, nest.mapping.kernels[kernel].nest)) {
        if (s->kind != StatementKind::product)
            operations += s->operations * points(*s, whole(nest.computation));
    }
    least = max(least, as_bytes(cold) / (device.hbm_share * device.hbm));
    if (device.vector > FlopRate{})
        least = max(least, static_cast<double>(operations) * flop / (0.5 * device.vector) / even);
    return least + device.launch;
}

void time_kernels(const MappedComputation& nest, const MappingDevice& device, Analysis& a) {
    std::set<std::size_t> seen;
    Seconds longest_kernel;
    Seconds launches;
    for (std::size_t i = 0; i < a.kernels.size(); ++i) {
        KernelAnalysis& k = a.kernels[i];
        k.floor = max(product_time(nest, device, i), least_hbm_bytes(nest, device, k, seen) / device.hbm);
        a.floor += k.floor;
        a.expected += k.expected;
        launches += device.launch;
        if (k.expected > longest_kernel) {
            longest_kernel = k.expected;
            a.bound = k.bound;
        }
    }
    if (2.0 * launches > a.expected) a.bound = "overhead";
    std::set<int> read, written;
    for (const Statement& s : nest.computation.statements) {
        for (const Access& input : s.inputs) read.insert(input.tensor);
        written.insert(s.output.tensor);
    }
    for (std::size_t t = 0; t < nest.computation.tensors.size(); ++t) {
        const bool between = read.count(static_cast<int>(t)) > 0 && written.count(static_cast<int>(t)) > 0;
        if (!between) a.compulsory_bytes += tensor_bytes(nest.computation, t);
    }
}

}  // namespace headroom
