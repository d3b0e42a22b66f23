// SPDX-License-Identifier: Apache-2.0
#include "perf/operator_time.h"

#include <algorithm>

namespace headroom {
namespace {

// A kernel launched by the host one at a time costs this many times its gap inside a graph (measured on an
// H200: 3.5-4.4 us in a stream, 0.5-1 us in a graph, where a dependent small kernel takes about 2 us).
constexpr double kStreamLaunches = 2.5;

// Traffic that reaches memory: what must be read, and activations once they outgrow the L2.
Bytes expected_bytes(const Work& w, const Hardware& h) {
    const Bytes cache = h.memory.l2 ? h.memory.l2->value : Bytes{};
    return compulsory_bytes(w) + (w.activations > cache ? w.activations : Bytes{});
}

Interval matrix_fraction(const Operator& op, const Achievable& a) {
    return std::holds_alternative<Attention>(op.shape) ? a.attention : a.matrix;
}

// Latency plus bandwidth; an all-reduce passes every link twice.
OperatorTime collective_time(const Collective& c, const Hardware& h) {
    OperatorTime t;
    t.bound = Bound::network;
    const Link* link = link_for(h, c.gpus);
    if (c.gpus <= 1 || link == nullptr) return t;
    const Seconds floor = link_bytes(c) / link->per_direction.value;
    const Achievable& a = h.generation.achievable;
    const auto at = [&](double fraction, double message) { return Seconds(message) + floor / fraction; };
    t.network_floor = floor;
    t.time = {floor, at(a.link.high, a.message.low), at(a.link.expected, a.message.expected),
              at(a.link.low, a.message.high)};
    t.shares.network = t.time.expected;
    return t;
}

}  // namespace

std::string to_string(Bound bound) {
    for (const auto& [value, name] : kBounds) {
        if (value == bound) return std::string(name);
    }
    return "";
}

Bound largest(const TimeShares& s) {
    const Seconds most = max(max(s.memory, s.compute), max(s.network, s.overhead));
    if (most == s.memory) return Bound::memory;
    if (most == s.compute) return Bound::compute;
    return most == s.network ? Bound::network : Bound::overhead;
}

ElementType compute_type(const Operator& op) {
    if (const auto* m = std::get_if<Matmul>(&op.shape)) {
        const ElementType type = compute_type(m->weights);
        return bits(type) >= 16 ? m->activation : type;
    }
    if (const auto* a = std::get_if<Attention>(&op.shape)) return a->compute;
    return ElementType::fp32;
}

const Link* link_for(const Hardware& h, int gpus) {
    if (h.scale_up && (!h.scale_up->domain || h.scale_up->domain->value >= gpus)) return &*h.scale_up;
    if (h.network && h.scale_up) return &*h.network;
    if (h.pcie) return &*h.pcie;
    return h.network ? &*h.network : nullptr;
}

OperatorTime operator_time(const Operator& op, const Hardware& h, bool graph) {
    if (const auto* collective = std::get_if<Collective>(&op.shape)) return collective_time(*collective, h);
    const Work w = work(op);
    const Bandwidth bandwidth = h.memory.bandwidth.value;
    const FlopRate peak = dense_peak(h, compute_type(op)).value_or(Peak{}).rate;
    OperatorTime t;
    t.memory_floor = compulsory_bytes(w) / bandwidth;
    t.compute_floor = w.flop / peak;
    const Achievable& a = h.generation.achievable;
    const Interval matrix = matrix_fraction(op, a);
    const double launches = graph ? 1 : kStreamLaunches;
    const Seconds memory = expected_bytes(w, h) / bandwidth;
    const auto at = [&](double memory_fraction, double compute_fraction, double launch) {
        return max(memory / memory_fraction, t.compute_floor / compute_fraction) + Seconds(launches * launch);
    };
    t.time.floor = max(t.memory_floor, t.compute_floor);
    t.time.low = max(t.time.floor, max(t.memory_floor / a.memory.high, t.compute_floor / matrix.high) +
                                       Seconds(a.launch.low));
    t.time.expected = at(a.memory.expected, matrix.expected, a.launch.expected);
    t.time.high = at(a.memory.low, matrix.low, a.launch.high);
    const bool by_memory = memory / a.memory.expected >= t.compute_floor / matrix.expected;
    t.shares.overhead = Seconds(launches * a.launch.expected);
    (by_memory ? t.shares.memory : t.shares.compute) = t.time.expected - t.shares.overhead;
    t.bound = largest(t.shares);
    return t;
}

}  // namespace headroom
