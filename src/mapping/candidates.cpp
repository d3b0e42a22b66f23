// SPDX-License-Identifier: Apache-2.0
#include "mapping/candidates.h"

#include <algorithm>

namespace headroom {
namespace {

// A matrix unit works on 16 rows at least (mma m16n8k16, PTX ISA); tiles of inputs are taken 64 deep and
// intermediates 64 wide; sums are kept in fp32.
constexpr double kRows = 16;
constexpr double kDepth = 64;
constexpr double kWidth = 64;
constexpr Bytes kSum{4};

Bytes width(ElementType type) { return Bytes(bits(type) / 8); }

// A kRows x kWidth tile of a product's output and the operand tiles that feed it.
Bytes product_tile(const Matmul& op, double columns) {
    return kRows * columns * kSum + kDepth * kRows * width(op.activation) +
           kDepth * columns * bytes_per_element(op.weights);
}

FusionCandidate named(std::string name, const std::string& producer, const std::string& consumer,
                      double count) {
    FusionCandidate c;
    c.name = std::move(name);
    c.producer = producer;
    c.consumer = consumer;
    c.count = count;
    return c;
}

struct Finder {
    const MappingDevice& device;
    std::vector<FusionCandidate> found{};

    void add(FusionCandidate c) {
        c.saved = c.count * c.passes * c.bytes;
        const Bytes room(static_cast<double>(device.sram_per_block_bytes + device.registers_per_sm_bytes));
        c.fits = room == Bytes{} || c.tile <= room;
        found.push_back(std::move(c));
    }

    // S = Q K^T and P = softmax(S): written and read once each when they are not fused.
    void scores(const Operator& op, const Attention& a) {
        double pairs = 0;
        for (const SequenceGroup& g : a.groups) {
            const double reach = a.scored_reach > 0 ? a.scored_reach : a.reach;
            pairs +=
                g.sequences * g.fresh * (reach > 0 ? std::min(reach, g.past + g.fresh) : g.past + g.fresh);
        }
        FusionCandidate c = named(op.name + " scores", op.name + " Q K^T", op.name + " P V", op.count);
        c.bytes = pairs * a.heads * width(a.activation);
        c.passes = 4;
        c.in_step = false;
        c.between = Between::streamable;
        c.tile =
            kRows * (kWidth + a.value_dim) * kSum +
            (kRows * a.key_dim + kWidth * (a.key_dim + (a.latent ? 0 : a.value_dim))) * width(a.activation);
        add(std::move(c));
    }

    void output_of(const Operator& producer, const Matmul& op, const Operator& consumer) {
        FusionCandidate c = named(producer.name + " output", producer.name, consumer.name, producer.count);
        c.bytes = op.rows * op.outputs * width(op.activation);
        c.tile = product_tile(op, kWidth);
        add(std::move(c));
    }

    void input_of(const Operator& producer, const Operator& consumer, const Matmul& op) {
        FusionCandidate c = named(consumer.name + " input", producer.name, consumer.name, consumer.count);
        c.bytes = op.rows * op.inputs * width(op.activation);
        const bool norm = producer.name == "norms";
        const bool elementwise = !norm && std::holds_alternative<Stream>(producer.shape);
        c.between = norm ? Between::streamable : elementwise ? Between::nothing : Between::sum;
        // A producer that makes the input block by block keeps all of the consumer's row open; an elementwise
        // one can be repeated by every block of columns.
        c.tile = product_tile(op, c.between == Between::sum ? op.outputs : kWidth);
        add(std::move(c));
    }

    void queries(const Operator& producer, const Operator& consumer, const Attention& a, ElementType type) {
        FusionCandidate c = named(consumer.name + " queries", producer.name, consumer.name, consumer.count);
        double fresh = 0;
        for (const SequenceGroup& g : a.groups) fresh += g.sequences * g.fresh;
        c.bytes = fresh * a.heads * a.key_dim * width(type);
        c.tile = product_tile(std::get<Matmul>(producer.shape), a.key_dim);
        add(std::move(c));
    }

    void logits(const Operator& op, const Matmul& m) {
        FusionCandidate c = named("logits", op.name, "softmax or loss", op.count);
        c.bytes = m.rows * m.outputs * width(m.activation);
        c.in_step = false;
        c.between = Between::streamable;
        c.tile = product_tile(m, kWidth);
        add(std::move(c));
    }

    void pair(const Operator& a, const Operator& b) {
        const auto* product = std::get_if<Matmul>(&a.shape);
        const auto* next = std::get_if<Matmul>(&b.shape);
        if (product != nullptr && std::holds_alternative<Stream>(b.shape)) output_of(a, *product, b);
        if (product != nullptr && std::holds_alternative<Attention>(b.shape))
            queries(a, b, std::get<Attention>(b.shape), product->activation);
        if (next != nullptr && product == nullptr) input_of(a, b, *next);
    }
};

}  // namespace

std::vector<FusionCandidate> fusion_candidates(const std::vector<Operator>& step, const MappingDevice& device,
                                               Bytes least) {
    Finder finder{device};
    const Operator* before = nullptr;
    for (const Operator& op : step) {
        if (const auto* a = std::get_if<Attention>(&op.shape)) finder.scores(op, *a);
        if (const auto* m = std::get_if<Matmul>(&op.shape); m != nullptr && op.name == "lm_head")
            finder.logits(op, *m);
        // A collective in between must have all of it first.
        if (std::holds_alternative<Collective>(op.shape)) {
            before = nullptr;
            continue;
        }
        if (before != nullptr && before->count == op.count) finder.pair(*before, op);
        before = &op;
    }
    std::vector<FusionCandidate> all = std::move(finder.found);
    all.erase(
        std::remove_if(all.begin(), all.end(), [&](const FusionCandidate& c) { return c.bytes < least; }),
        all.end());
    std::stable_sort(all.begin(), all.end(),
                     [](const FusionCandidate& a, const FusionCandidate& b) { return a.saved > b.saved; });
    return all;
}

}  // namespace headroom
