// SPDX-License-Identifier: Apache-2.0
#include "perf/operator_time.h"

#include "perf/attention_time.h"
#include "perf/collective_time.h"
#include "perf/product_time.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

FlopRate peak_of(const Hardware& h, ElementType type) { return dense_peak(h, type).value_or(Peak{}).rate; }

ProductKind kind_of(const StorageFormat& f) {
    if (bits(f.element) > 8) return ProductKind::Half;
    if (f.weight_only) return ProductKind::WeightOnly;
    return f.group > 0 && bits(f.element) == 8 ? ProductKind::Fp8Block : ProductKind::Fp8;
}

/// Bytes of an input element: quantised to the computed type, else as it is.
double input_element(const StorageFormat& f, ElementType activation) {
    return (f.weight_only ? bits(activation) : std::min(bits(f.element), bits(activation))) / 8;
}

bool grouped(const Matmul& op) { return op.groups > 1 || (op.groups > 0 && op.groups < 1); }

KernelTime kernel_time(const Matmul& op, const Hardware& h, const KernelChoices& choices) {
    const FlopRate peak = peak_of(h, compute_type(Operator{"", op}));
    const double weight = bytes_per_element(op.weights).base();
    if (grouped(op)) {
        GroupedShape s;
        s.n = op.outputs;
        s.k = op.inputs;
        s.kind = kind_of(op.weights);
        s.weight_element = weight;
        s.input_element = input_element(op.weights, op.activation);
        s.peak = peak;
        s.tiles = choices.expert_tiles;
        s.few_tokens = op.rows <= op.groups;
        return grouped_time(s, touched_load(op.groups, op.rows), h.reach);
    }
    ProductShape s;
    s.m = op.rows;
    s.n = op.outputs;
    s.k = op.inputs;
    s.kind = kind_of(op.weights);
    s.weight_element = op.groups > 0 ? weight : 0;  // 0 groups: another operator read the weights
    s.input_element = input_element(op.weights, op.activation);
    s.output_element = bits(op.activation) / 8;
    s.peak = peak;
    return product_time(s, h.reach);
}

/// From this many new tokens a sequence runs through the prefill kernel.
constexpr double kPrefillFrom = 16;

KernelTime latent_time(const Attention& op, const SequenceGroup& g, double context, const Ceilings& reach) {
    MlaShape s;
    s.sequences = g.sequences;
    s.query_tokens = g.fresh;
    s.context = context;
    s.heads = op.heads;
    s.rank = op.value_dim;
    s.rope_dim = op.key_dim - op.value_dim;
    s.cache_element = op.kv_per_token.base() / op.key_dim;
    return mla_decode_time(s, reach);
}

KernelTime group_time(const Attention& op, const SequenceGroup& g, const Ceilings& reach) {
    const double reach_now = op.chunked ? std::min(op.reach, chunk_reach(g, op.reach).read) : op.reach;
    double context = visible(g.past, g.fresh, reach_now);
    if (op.scored_reach > 0) context = std::min(context, op.scored_reach);
    if (op.latent) return latent_time(op, g, context, reach);
    AttentionShape s;
    s.sequences = g.sequences;
    s.query_tokens = std::min(g.fresh, context);
    s.context = context;
    s.heads = op.heads;
    s.kv_heads = op.kv_heads;
    s.qk_dim = op.key_dim;
    s.v_dim = op.value_dim;
    s.cache_element = op.kv_per_token.base() / (op.kv_heads * (op.key_dim + op.value_dim));
    if (g.fresh < kPrefillFrom) return decode_attention_time(s, reach);
    if (op.reach > 0 && g.fresh > op.reach) {
        // A window shorter than the prompt: stretches of `reach` queries, each against twice its length at
        // most; chunks see no further than themselves.
        s.sequences *= g.fresh / op.reach;
        s.query_tokens = op.reach;
        s.context = op.chunked ? op.reach : 2 * op.reach;
    }
    return prefill_attention_time(s, reach);
}

/// Groups of one batch share a launch (a kernel for variable lengths).
KernelTime kernel_time(const Attention& op, const Hardware& h, const KernelChoices&) {
    KernelTime sum;
    for (const SequenceGroup& g : op.groups) {
        if (g.sequences <= 0 || g.fresh <= 0) continue;
        const KernelTime t = group_time(op, g, h.reach);
        sum.total += t.total - min(sum.launch, t.launch);
        sum.launch = max(sum.launch, t.launch);
        sum.compute += t.compute;
        sum.memory += t.memory;
    }
    return sum;
}

/// Activations that outgrow L2 reach memory; smaller ones are found where the kernel before left them.
KernelTime kernel_time(const Stream& op, const Hardware& h, const KernelChoices&) {
    const Bytes activations = op.work.activations > h.reach.peaks.l2 ? op.work.activations : Bytes();
    KernelTime t;
    t.launch = h.reach.stream.launch;
    t.memory = (compulsory_bytes(op.work) + activations) / h.reach.memory_rate();
    t.total = t.launch + t.memory;
    return t;
}

void set_interval(OperatorTime& t, double factor) {
    t.time.expected = max(t.time.floor, t.time.expected);
    t.time.low = max(t.time.floor, t.time.expected / factor);
    t.time.high = t.time.expected * factor;
}

double spread(const Matmul& op, const Ceilings& reach) {
    const auto kind = static_cast<std::size_t>(kind_of(op.weights));
    return grouped(op) ? reach.experts[kind].spread : reach.product[kind].spread;
}

double spread(const Attention& op, const Ceilings& reach) {
    if (op.latent) return reach.mla.decode_spread;
    const auto prompt = [](const SequenceGroup& g) { return g.fresh >= kPrefillFrom; };
    const bool any = std::any_of(op.groups.begin(), op.groups.end(), prompt);
    return any ? std::max(reach.prefill.spread, reach.decode.spread) : reach.decode.spread;
}

double spread(const Stream&, const Ceilings& reach) { return reach.stream.spread; }

double spread(const Collective&, const Ceilings& reach) { return reach.collective.spread; }

/// What hides behind the longer of memory and compute is not counted; the rest of the total is overhead.
TimeShares shares_of(const KernelTime& k, Seconds expected) {
    TimeShares s;
    const Seconds busy = min(expected, max(k.memory, k.compute));
    (k.memory >= k.compute ? s.memory : s.compute) = busy;
    s.overhead = expected - busy;
    return s;
}

/// A product computed in 8 bits takes in 16-bit activations; grouped ones were measured with their
/// quantisation. Attention over an 8-bit cache takes in 16-bit queries. Both only where the device computes
/// in 8 bits: elsewhere weights and cache are widened.
bool quantises(const Matmul& op, const Hardware& h) {
    const ElementType type = compute_type(Operator{"", op});
    return !grouped(op) && !op.weights.weight_only && bits(op.activation) > 8 && bits(type) == 8 &&
           h.compute.dense.count(type) > 0;
}

bool quantises(const Attention& op, const Hardware& h) {
    return bits(op.cache) == 8 && h.compute.dense.count(ElementType::fp8) > 0;
}

bool quantises(const Stream&, const Hardware&) { return false; }

bool quantises(const Collective&, const Hardware&) { return false; }

void add_quantisation(OperatorTime& t, const Hardware& h, const KernelChoices& choices) {
    const auto kernel = [&](double time) {
        return choices.graph || time <= 0 ? Seconds(time) : max(Seconds(time), h.reach.stream.issue);
    };
    t.time.low += kernel(choices.quantise.low);
    t.time.expected += kernel(choices.quantise.expected);
    t.time.high += kernel(choices.quantise.high);
    t.shares.overhead += kernel(choices.quantise.expected);
}

OperatorTime collective_estimate(const Collective& c, const Hardware& h, const KernelChoices& choices) {
    OperatorTime t;
    t.bound = Bound::network;
    const Link* link = link_for(h, c.gpus);
    if (c.gpus <= 1 || link == nullptr) return t;
    Ceilings reach = h.reach;
    reach.peaks.link = link->per_direction.value;
    t.network_floor = collective_floor(c, reach.peaks);
    t.time.floor = t.network_floor;
    t.time.expected = collective_time(c, reach, {.engine_kernel = choices.one_shot_all_reduce});
    set_interval(t, spread(c, reach));
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

Bound floor_bound(const OperatorTime& t) {
    return largest({t.memory_floor, t.compute_floor, t.network_floor, Seconds()});
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

OperatorTime operator_time(const Operator& op, const Hardware& h, const KernelChoices& choices) {
    if (const auto* collective = std::get_if<Collective>(&op.shape))
        return collective_estimate(*collective, h, choices);
    const KernelTime k = std::visit(
        [&](const auto& shape) {
            if constexpr (std::is_same_v<std::decay_t<decltype(shape)>, Collective>)
                return KernelTime{};
            else
                return kernel_time(shape, h, choices);
        },
        op.shape);
    const Work w = work(op);
    OperatorTime t;
    t.memory_floor = compulsory_bytes(w) / h.memory.bandwidth.value;
    const FlopRate peak = peak_of(h, compute_type(op));
    t.compute_floor = peak > FlopRate() ? w.flop / peak : Seconds();
    t.time.floor = max(t.memory_floor, t.compute_floor);
    t.time.expected = choices.graph ? k.total : max(k.total, h.reach.stream.issue);
    set_interval(t, std::visit([&](const auto& shape) { return spread(shape, h.reach); }, op.shape));
    t.shares = shares_of(k, t.time.expected);
    if (std::visit([&](const auto& shape) { return quantises(shape, h); }, op.shape))
        add_quantisation(t, h, choices);
    t.bound = largest(t.shares);
    return t;
}

}  // namespace headroom
