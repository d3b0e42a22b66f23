// SPDX-License-Identifier: Apache-2.0
// Llama-4's local layers: a token sees its own chunk up to itself (transformers' llama4 chunked attention
// mask).
#include "catalogue.h"
#include "memory/grouped.h"
#include "memory/ledger.h"
#include "ops/mixer.h"
#include "ops/shard.h"
#include "ops/step.h"

#include <algorithm>

namespace {

using namespace headroom;
using test::near;

constexpr std::int64_t kChunk = 8192;

SoftmaxAttention attention(std::int64_t chunk) {
    return {.heads = 40, .kv_heads = 8, .head_dim = 128, .value_dim = 128, .chunk = chunk};
}

Work work_of(const SoftmaxAttention& a, const SequenceGroup& g) { return work(core(a, {{g}}, {}).back()); }

double tokens_read(const SoftmaxAttention& a, const SequenceGroup& g) {
    return work_of(a, g).kv.base() / kv_law(a, {}).per_token.base();
}

double pairs(const SoftmaxAttention& a, const SequenceGroup& g) {
    return work_of(a, g).flop.base() / (2.0 * a.heads * (a.head_dim + a.value_dim));
}

}  // namespace

TEST_CASE("a decoded token sees its chunk up to itself, not the last chunk's length", "[physics]") {
    const SoftmaxAttention a = attention(kChunk);
    for (const auto& [context, seen] : {std::pair{1.0, 1.0},
                                        {8191.0, 8191.0},
                                        {8192.0, 8192.0},
                                        {8193.0, 1.0},
                                        {12288.0, 4096.0},
                                        {16384.0, 8192.0},
                                        {16385.0, 1.0}}) {
        INFO(context);
        const SequenceGroup g{.sequences = 1, .fresh = 1, .past = context - 1};
        CHECK(tokens_read(a, g) == seen);
        CHECK(pairs(a, g) == seen);
    }
    // Over a whole chunk the mean is half of it.
    double sum = 0;
    const SoftmaxAttention small = attention(64);
    for (int past = 640; past < 704; ++past)
        sum += tokens_read(small, {.sequences = 1, .fresh = 1, .past = double(past)});
    CHECK(sum / 64 == 32.5);
}

TEST_CASE("a prompt under chunked attention is blocks on the diagonal, however it is cut", "[physics]") {
    const SoftmaxAttention a = attention(100);
    for (const int past : {0, 1, 99, 100, 150}) {
        for (const int fresh : {1, 50, 100, 101, 730}) {
            INFO(past << " " << fresh);
            double brute = 0;
            for (int p = past; p < past + fresh; ++p) brute += p % 100 + 1;
            CHECK(near(pairs(a, {.sequences = 1, .fresh = double(fresh), .past = double(past)}), brute));
            // What was cached of the first token's chunk, and the fresh tokens.
            CHECK(tokens_read(a, {.sequences = 1, .fresh = double(fresh), .past = double(past)}) ==
                  past % 100 + fresh);
        }
    }
    // One chunk is causal attention; four are a quarter of it.
    const SoftmaxAttention full = attention(0), chunked = attention(kChunk);
    const SequenceGroup one{.sequences = 1, .fresh = kChunk, .past = 0},
        four{.sequences = 1, .fresh = 4 * kChunk, .past = 0};
    CHECK(near(pairs(chunked, one), pairs(full, one)));
    CHECK(near(pairs(chunked, four), pairs(full, four) / 4, 2e-4));
    CHECK(near(pairs(chunked, four), 4 * pairs(chunked, one)));
}

TEST_CASE("sequences of mixed lengths see half a chunk on average", "[physics]") {
    const SoftmaxAttention a = attention(kChunk);
    const auto mean = [&](double context) {
        return tokens_read(a, {.sequences = 1, .fresh = 1, .past = context - 1, .mixed = true});
    };
    CHECK(near(mean(1000), 1000));
    CHECK(near(mean(4096), 4096));
    CHECK(near(mean(8192), 4096));
    CHECK(near(mean(1 << 20), 4096, 1e-2));
    // Longer sequences never see more than a chunk, whatever their mean.
    for (double context = 1; context < 1e6; context *= 1.3) CHECK(mean(context) <= kChunk);
}

TEST_CASE("Llama-4-Scout decodes faster just after a chunk began than just before its end", "[physics]") {
    const Shard scout = shard(test::model("llama-4-scout"), {.tp = 8});
    const Bytes before = total_work(step_operators(scout, decode_batch(1, 3 * kChunk))).kv;
    const Bytes after = total_work(step_operators(scout, decode_batch(1, 3 * kChunk + 1))).kv;
    // 36 of 48 layers lose 8191 tokens, 12 gain one: 512 bytes per token and layer on each GPU
    CHECK(near((before - after).base(), 512.0 * (36 * 8191 - 12)));
}

TEST_CASE("an engine admits a chunk and the tokens of a step for chunked layers", "[physics]") {
    // vLLM: ceil(min(chunk + batched tokens, context) / block) blocks
    const ModelKv kv{{kv_law(attention(kChunk), {}), 36}};
    const Engine vllm = test::engine("vllm");
    REQUIRE(vllm.memory.window_admission);
    const double block = vllm.memory.block_tokens.value, step = vllm.scheduler.max_batched_tokens.value;
    const double each = 36 * kv[0].law.per_token.base();
    for (const double context : {1000.0, 8192.0, 20000.0, 131072.0}) {
        const double blocks = std::ceil(std::min(double(kChunk) + step, context) / block);
        CHECK(near(admitted_bytes(kv, vllm, context).base(), blocks * block * each));
    }
    // Without that rule a chunk is all that is kept.
    CHECK(near(kv_bytes(kv, 131072).base(), 36 * kv[0].law.per_token.base() * kChunk));
}

TEST_CASE("pages of a chunk that ended are freed together", "[physics]") {
    KvLaw law = kv_law(attention(64), {});
    const ModelKv kv{{law, 1}};
    const PageLayout layout = page_layout(kv, 16);
    GroupedAllocator pages(100 * layout.page, layout, false);
    REQUIRE(pages.admit(0, {.tokens = 1, .final_tokens = 300}));
    std::int64_t most = 0;
    for (std::int64_t n = 2; n <= 300; ++n) {
        if (n > pages.room(0)) REQUIRE(pages.grow(0));
        pages.wrote(0, n);
        const Usage u = pages.usage(0);
        const std::int64_t held = u.region - u.free - u.external;
        most = std::max(most, held);
        INFO(n);
        CHECK(held == ((n - 1) % 64 / 16 + 1) * layout.page);
        CHECK(u.used == ((n - 1) % 64 + 1) * layout.page / 16);
    }
    CHECK(most == 4 * layout.page);
    pages.release(0, 300);
    CHECK(pages.usage(0).used == 0);
    CHECK(pages.usage(0).free == 100 * layout.page);
}
