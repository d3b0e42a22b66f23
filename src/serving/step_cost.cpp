// SPDX-License-Identifier: Apache-2.0
#include "serving/step_cost.h"

#include "ops/speculation.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

StepCost operator+(StepCost a, StepCost b) { return {a.latency + b.latency, a.slowest + b.slowest}; }
StepCost operator*(double f, StepCost c) { return {f * c.latency, f * c.slowest}; }
StepCost operator-(StepCost a, StepCost b) { return a + -1.0 * b; }

StepCost mix(StepCost low, StepCost high, double share) { return (1 - share) * low + share * high; }

// Axes: every whole number up to 2^fine, then 2^fine nodes per doubling, so that neighbours differ by at most
// 1 / 2^fine.
double node_value(int index, int fine) {
    const int per_doubling = 1 << fine;
    if (index < per_doubling) return index;
    const int doubling = index / per_doubling - 1;
    return std::ldexp(per_doubling + index % per_doubling, doubling);
}

int node_below(double value, int fine) {
    const int per_doubling = 1 << fine;
    if (value < per_doubling) return static_cast<int>(value);
    const int doubling = std::ilogb(value) - fine;
    return (doubling + 1) * per_doubling + static_cast<int>(std::ldexp(value, -doubling)) - per_doubling;
}

constexpr int kFineSequences = 4, kFineContext = 3, kFineFresh = 4, kFinePast = 3;

enum class Table : std::uint64_t { decode = 1, decode_attention, products, unsampled, chunk };

std::uint64_t key_of(Table table, int a, int b) {
    return static_cast<std::uint64_t>(table) << 48 | static_cast<std::uint64_t>(a) << 24 |
           static_cast<std::uint64_t>(b);
}

std::uint64_t combine(std::uint64_t hash, std::uint64_t value) {
    return (hash ^ value) * 0x9e3779b97f4a7c15ull + (hash >> 29);
}

std::uint64_t hash_of(const StepShape& s) {
    std::uint64_t h =
        combine(static_cast<std::uint64_t>(s.decodes), static_cast<std::uint64_t>(s.decode_context));
    for (const PromptChunk& c : s.chunks) {
        h = combine(h, static_cast<std::uint64_t>(c.fresh) << 1 | (c.last ? 1u : 0u));
        h = combine(h, static_cast<std::uint64_t>(c.past));
    }
    return h;
}

SequenceGroup decoding(double sequences, double context) {
    return {.sequences = sequences, .fresh = 1, .past = std::max(0.0, context - 1), .mixed = true};
}

}  // namespace

struct StepCosts::Cell {
    int low, high, fine;
    double share;

    Cell(double value, int resolution) : low(node_below(value, resolution)), high(low + 1), fine(resolution) {
        const double below = node_value(low, fine), above = node_value(high, fine);
        share = (value - below) / (above - below);
        if (share <= 0) high = low;
    }
};

Batch batch_of(const StepShape& shape, int ranks) {
    Batch batch;
    if (shape.decodes > 0) {
        // A step lasts as long as its busiest rank.
        const std::int64_t busiest = (shape.decodes + ranks - 1) / ranks;
        const auto most = static_cast<double>(busiest);
        batch.groups.push_back(
            decoding(most, static_cast<double>(shape.decode_context) / static_cast<double>(shape.decodes)));
    }
    for (const PromptChunk& c : shape.chunks) {
        batch.groups.push_back({.sequences = 1.0 / ranks,
                                .fresh = static_cast<double>(c.fresh),
                                .past = static_cast<double>(c.past),
                                .samples = c.last});
    }
    return batch;
}

StepCosts::StepCosts(const Shard& shard, const Hardware& hardware, const Engine& engine, bool contiguous)
    : shard_(shard),
      hardware_(hardware),
      engine_(engine),
      bare_(without_host(engine)),
      gained_(tokens_gained(shard).expected) {
    if (contiguous) saved_ = 1 - 1 / (1 + engine.time.paged_attention_cost);
    // Groups of a batch share the launch of their attention kernels.
    const SequenceGroup small{.sequences = 1, .fresh = 16, .past = 0};
    shared_launch_ = 2.0 * attention({{small}}) - attention({{small, small}});
}

StepCost StepCosts::device(const Batch& batch) const {
    ++evaluations_;
    const StepTime t = step_time(shard_, batch, hardware_, bare_);
    return {t.time.expected.base(), t.slowest_stage.base()};
}

StepCost StepCosts::attention(const Batch& batch) const {
    ++evaluations_;
    StepCost sum;
    const Batch whole = with_guesses(batch, shard_);
    for (std::size_t stage = 0; stage < shard_.stages.size(); ++stage) {
        double here = 0;
        for (const Operator& op : step_operators(shard_, stage, whole)) {
            if (std::holds_alternative<Attention>(op.shape))
                here += op.count * operator_time(op, hardware_, {.graph = false}).time.expected.base();
        }
        sum.latency += here;
        sum.slowest = std::max(sum.slowest, here);
    }
    return sum;
}

StepCost StepCosts::exact(const StepShape& shape) const {
    const Batch batch = batch_of(shape, shard_.deployment.dp);
    StepCost cost = device(batch);
    if (saved_ > 0) cost = cost - saved_ * attention(batch);
    return with_host_of(batch, cost);
}

// Every stage has the host's part of its batch, as far as it does not overlap.
StepCost StepCosts::with_host_of(const Batch& batch, StepCost device) const {
    return {with_host(Seconds(device.latency), batch, engine_).base(),
            with_host(Seconds(device.slowest), batch, engine_).base()};
}

template <class Evaluate>
StepCost StepCosts::between(int table, Cell x, Cell y, const Evaluate& evaluate) {
    const auto at = [&](int a, int b) {
        const std::uint64_t key = key_of(static_cast<Table>(table), a, b);
        const auto found = nodes_.find(key);
        if (found != nodes_.end()) return found->second;
        return nodes_.emplace(key, evaluate(node_value(a, x.fine), node_value(b, y.fine))).first->second;
    };
    const auto along = [&](int a) { return mix(at(a, y.low), at(a, y.high), y.share); };
    return mix(along(x.low), along(x.high), x.share);
}

// All but attention of `sequences` that decode beside a prompt of `fresh` tokens.
StepCost StepCosts::products(double sequences, double fresh, bool samples) {
    const auto table = static_cast<int>(samples ? Table::products : Table::unsampled);
    return between(table, {sequences, kFineSequences}, {fresh, kFineFresh}, [&](double n, double f) {
        Batch batch;
        if (n > 0) batch.groups.push_back(decoding(n, 1));
        batch.groups.push_back(
            {.sequences = 1.0 / shard_.deployment.dp, .fresh = f, .past = 0, .samples = samples});
        return device(batch) - attention(batch);
    });
}

// A step of guesses is spread over the tokens that it gains on average: what decoding alone takes counts once
// per step, what chunks add counts where they run.
StepCost StepCosts::operator()(const StepShape& shape) {
    const StepCost cost = whole_step(shape);
    if (gained_ <= 1 || shape.decodes == 0) return cost;
    const StepCost plain =
        shape.chunks.empty() ? cost : whole_step({shape.decodes, shape.decode_context, {}});
    return cost - (1 - 1 / gained_) * plain;
}

StepCost StepCosts::whole_step(const StepShape& shape) {
    const auto sequences = shape.decodes + static_cast<std::int64_t>(shape.chunks.size());
    if (sequences <= kExactSequences) {
        const std::uint64_t hash = hash_of(shape);
        const auto found = exact_.find(hash);
        if (found != exact_.end()) return found->second;
        if (exact_.size() < kExactSteps) return exact_.emplace(hash, exact(shape)).first->second;
    }
    return with_host_of(batch_of(shape, shard_.deployment.dp), interpolate(shape));
}

StepCost StepCosts::interpolate(const StepShape& shape) {
    const int ranks = shard_.deployment.dp;
    const std::int64_t busiest = (shape.decodes + ranks - 1) / ranks;
    const auto n = static_cast<double>(busiest);
    const Cell decodes{n, kFineSequences};
    const Cell context{shape.decodes > 0 ? double(shape.decode_context) / double(shape.decodes) : 0,
                       kFineContext};
    const auto decoding_attention = [&] {
        return between(static_cast<int>(Table::decode_attention), decodes, context,
                       [&](double b, double c) { return attention({{decoding(b, c)}}); });
    };
    if (shape.chunks.empty()) {
        const StepCost cost = between(static_cast<int>(Table::decode), decodes, context,
                                      [&](double b, double c) { return device({{decoding(b, c)}}); });
        return saved_ > 0 ? cost - saved_ * decoding_attention() : cost;
    }
    StepCost attending;
    double fresh = 0;
    bool samples = shape.decodes > 0;
    for (const PromptChunk& chunk : shape.chunks) {
        fresh += static_cast<double>(chunk.fresh);
        samples = samples || chunk.last;
        attending =
            attending + between(static_cast<int>(Table::chunk), {double(chunk.fresh), kFineFresh},
                                {double(chunk.past), kFinePast}, [&](double f, double p) {
                                    return attention({{{.sequences = 1.0 / ranks, .fresh = f, .past = p}}});
                                });
    }
    if (shape.decodes > 0) attending = attending + decoding_attention();
    const std::size_t groups = shape.chunks.size() + (shape.decodes > 0 ? 1 : 0);
    return products(n, fresh, samples) + (1 - saved_) * attending -
           static_cast<double>(groups - 1) * shared_launch_;
}

}  // namespace headroom
