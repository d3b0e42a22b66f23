// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "io/hardware_yaml.h"
#include "io/mapping_yaml.h"
#include "mapping/analysis.h"

#include <cmath>
#include <list>
#include <queue>
#include <random>
#include <unordered_map>

using namespace headroom;
using headroom::test::source;

namespace {

// A cache that gives up what was used longest ago, in pieces of unequal size.
struct Lru {
    std::int64_t room = 0, used = 0, missed = 0;
    std::list<std::pair<std::int64_t, std::int64_t>> order{};  // name, bytes
    std::unordered_map<std::int64_t, decltype(order)::iterator> where{};

    void touch(std::int64_t name, std::int64_t bytes, bool read) {
        if (const auto found = where.find(name); found != where.end()) {
            order.splice(order.begin(), order, found->second);
            return;
        }
        missed += read ? bytes : 0;
        order.emplace_front(name, bytes);
        where[name] = order.begin();
        used += bytes;
        while (used > room) {
            used -= order.back().second;
            where.erase(order.back().first);
            order.pop_back();
        }
    }
};

// A product x w^T in blocks of 128 x `columns`, launched in groups of tokens, all of 16 bits.
struct Product {
    std::int64_t token_tiles, group, column_tiles, depth, columns, weights;
};

// Bytes that come from HBM when every place takes the next block as soon as it is free, and blocks are longer
// or shorter than others by up to the share `jitter`.
std::int64_t simulated(const Product& p, std::int64_t places, std::int64_t room, double jitter) {
    constexpr std::int64_t kDepth = 512;  // of a piece
    struct Event {
        double time, step;  // of the next piece, and between two
        std::int64_t block, piece;
        bool operator<(const Event& other) const { return time > other.time; }
    };
    std::mt19937 engine(7);
    Lru cache{room};
    std::priority_queue<Event> events;
    const std::int64_t pieces = p.depth / kDepth, blocks = p.token_tiles * p.column_tiles;
    std::int64_t next = 0;
    const auto start = [&](double time) {
        if (next == blocks) return;
        const double length = 1 + jitter * (2.0 * static_cast<double>(engine()) / 4294967295.0 - 1);
        events.push({time, length / static_cast<double>(pieces), next++, 0});
    };
    for (std::int64_t i = 0; i < places; ++i) start(0);
    const std::int64_t kind = std::int64_t{1} << 40;
    while (!events.empty()) {
        Event e = events.top();
        events.pop();
        if (e.piece == pieces) {
            cache.touch(3 * kind + e.block, 128 * p.columns * 2, false);
            start(e.time);
            continue;
        }
        const std::int64_t in_group = e.block % (p.group * p.column_tiles);
        const std::int64_t token = e.block / (p.group * p.column_tiles) * p.group + in_group % p.group;
        cache.touch(kind + token * pieces + e.piece, 128 * kDepth * 2, true);
        cache.touch(2 * kind + in_group / p.group * pieces + e.piece, p.weights * p.columns * kDepth * 2,
                    true);
        e.time += e.step;
        ++e.piece;
        events.push(e);
    }
    return cache.missed;
}

}  // namespace

TEST_CASE("what the L2 serves is what a cache serves that gives up what was used longest ago",
          "[mapping][physics]") {
    struct Kernel {
        const char* mapping;
        std::size_t kernel;
        Product product;
    };
    const Kernel kernels[]{{"mlp-unfused", 0, {64, 8, 112, 4096, 128, 1}},
                           {"mlp-unfused", 2, {64, 8, 32, 14336, 128, 1}},
                           {"mlp-gated-fused", 0, {64, 8, 224, 4096, 64, 2}},
                           {"layernorm-product-unfused", 1, {64, 8, 48, 4096, 128, 1}}};
    MappingDevice device = mapping_device(read_hardware(source("hwprofiles/h200.yaml"), source("")));
    device.l2_copies = 1;
    for (const double jitter : {0.0, 0.03, 0.06}) {
        device.uneven = jitter / std::sqrt(3.0);
        for (const std::int64_t megabytes : {32, 47}) {
            device.l2_bytes = megabytes * 1000000;
            for (const Kernel& k : kernels) {
                const MappedComputation nest =
                    read_mapping(source(std::string("mappings/") + k.mapping + ".yaml"), source(""), {});
                const KernelAnalysis found = analyse(nest, device).kernels[k.kernel];
                std::int64_t reads = 0;
                for (const TensorTraffic& t : found.tensors) reads += 2 * t.words[0].reads;
                const std::int64_t run =
                    simulated(k.product, device.sms * found.blocks_per_sm, device.l2_bytes, jitter);
                INFO(k.mapping << " kernel " << k.kernel << ", L2 " << megabytes << " MB, jitter " << jitter
                               << ": " << reads << " B, simulated " << run << " B");
                CHECK(std::abs(static_cast<double>(reads) / static_cast<double>(run) - 1) <= 0.05);
            }
        }
    }
}

TEST_CASE("a norm in the prologue of a product moves less than one before it", "[mapping][physics]") {
    const MappingDevice h200 = mapping_device(read_hardware(source("hwprofiles/h200.yaml"), source("")));
    const auto hbm = [&](const char* name) {
        return analyse(read_mapping(source(std::string("mappings/") + name + ".yaml"), source(""), {}), h200);
    };
    const Analysis fused = hbm("layernorm-product"), apart = hbm("layernorm-product-unfused");
    // The second pass over a block's rows finds most of what the first has read, though not all that a wave
    // touches fits into L2: the input does not come twice as often as the normalised one.
    const auto reads = [](const Analysis& a, const char* mapping, const std::string& tensor) {
        const MappedComputation nest =
            read_mapping(source(std::string("mappings/") + mapping + ".yaml"), source(""), {});
        std::int64_t words = 0;
        for (const TensorTraffic& t : a.kernels.back().tensors) {
            if (nest.computation.tensors[t.tensor].name == tensor) words += t.words[0].reads;
        }
        return words;
    };
    const auto once = static_cast<double>(reads(apart, "layernorm-product-unfused", "Xn"));
    CHECK(static_cast<double>(reads(fused, "layernorm-product", "X")) < 1.5 * once);
    CHECK(fused.hbm_bytes < apart.hbm_bytes);
}
