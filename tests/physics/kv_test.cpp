// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "ops/experts.h"
#include "ops/mixer.h"
#include "ops/tensor.h"
#include "physics/models.h"

namespace {

using namespace headroom;
using headroom::test::kv_per_token;
using headroom::test::near;

Model with_mixer(Model m, const Mixer& mixer) {
    m.kinds[0].mixer = mixer;
    return m;
}

LatentAttention deepseek_latent() {
    LatentAttention a;
    a.heads = 128;
    a.q_rank = 1536;
    a.kv_rank = 512;
    a.nope_dim = 128;
    a.rope_dim = 64;
    a.value_dim = 128;
    return a;
}

Work core_work(const Mixer& mixer, const Batch& batch) {
    return total_work(core(mixer, batch, {StorageFormat{}, ElementType::bf16}));
}

}  // namespace

TEST_CASE("fewer key-value heads cut the cache by exactly that factor", "[physics]") {
    const double mha = kv_per_token(test::grouped_model(80, 8192, 64, 64, 128, 28672, 128256));
    CHECK(mha / kv_per_token(test::grouped_model(80, 8192, 64, 8, 128, 28672, 128256)) == 8);
    CHECK(mha / kv_per_token(test::grouped_model(80, 8192, 64, 1, 128, 28672, 128256)) == 64);
}

TEST_CASE("halving the bytes of the cache doubles the sequences that fit", "[physics]") {
    Model m = test::llama_3_70b();
    const Bytes room = 10 * GB;
    const auto full = most_sequences(kv_of(m), room, 8192);
    m.kv_format = storage_format("fp8");
    const auto half = most_sequences(kv_of(m), room, 8192);
    CHECK(half >= 2 * full);
    CHECK(half <= 2 * full + 1);
}

TEST_CASE("bytes per token are those of the models' makers", "[physics]") {
    CHECK(kv_per_token(test::llama_2_7b()) == 524288);
    CHECK(kv_per_token(test::llama_3_8b()) == 131072);
    CHECK(kv_per_token(test::llama_3_70b()) == 327680);
}

TEST_CASE("MLA caches one latent for all heads, on every GPU of a tensor-parallel group", "[physics]") {
    Model m = with_mixer(test::grouped_model(61, 7168, 128, 128, 128, 18432, 129280), deepseek_latent());
    CHECK(kv_per_token(m) == 61 * 576 * 2);
    const Shard eight = shard(m, {.tp = 8});
    CHECK(kv_per_token(eight.stages[0]) == 70272);
    CHECK(std::get<LatentAttention>(eight.stages[0].kinds[0].mixer).heads == 16);
}

TEST_CASE("key-value heads are replicated when there are more GPUs than heads", "[physics]") {
    const Model m = test::llama_3_70b();
    CHECK(kv_per_token(shard(m, {.tp = 8}).stages[0]) == 327680 / 8);
    CHECK(kv_per_token(shard(m, {.tp = 16}).stages[0]) == 327680 / 8);
    CHECK(shard_fault(m.kinds[0].mixer, 3) != "");
    CHECK(shard_fault(m.kinds[0].mixer, 16) == "");
}

TEST_CASE("a window's cache stops growing at the window, and so do its reads", "[physics]") {
    Model m = test::grouped_model(2, 2880, 64, 8, 64, 2880, 201088);
    Layer local = m.kinds[0];
    std::get<SoftmaxAttention>(local.mixer).window = 128;
    m.kinds.push_back(local);
    m.layout = {0, 1};
    const double per_layer = 2 * 8 * 64 * 2;
    CHECK(kv_bytes(kv_of(m), 100).base() == 200 * per_layer);
    CHECK(kv_bytes(kv_of(m), 128).base() == 256 * per_layer);
    CHECK(kv_bytes(kv_of(m), 100000).base() == (100000 + 128) * per_layer);
    CHECK(kv_per_token(m) == per_layer);
    CHECK(core_work(local.mixer, decode_batch(1, 5000)).kv.base() == 128 * per_layer);
    CHECK(core_work(local.mixer, decode_batch(1, 50)).kv.base() == 50 * per_layer);
}

TEST_CASE("the longest context is the exact inverse of the cache's law", "[physics]") {
    Model m = test::grouped_model(8, 1024, 16, 4, 64, 4096, 32000);
    Layer local = m.kinds[0];
    std::get<SoftmaxAttention>(local.mixer).window = 1000;
    Layer linear = local;
    linear.mixer =
        LinearAttention{.key_heads = 4, .value_heads = 8, .key_dim = 64, .value_dim = 64, .conv = 4};
    m.kinds.push_back(local);
    m.kinds.push_back(linear);
    m.layout = {0, 1, 1, 2, 0, 1, 2, 2};
    const ModelKv kv = kv_of(m);
    for (const double context : {1.0, 7.0, 999.0, 1000.0, 1001.0, 50000.0}) {
        const Bytes exact = kv_bytes(kv, context);
        CHECK(longest_context(kv, exact, 1 << 20) == static_cast<std::int64_t>(context));
        CHECK(longest_context(kv, exact - 1 * byte, 1 << 20) == static_cast<std::int64_t>(context) - 1);
        CHECK(most_sequences(kv, 17 * exact, context) == 17);
        CHECK(most_sequences(kv, 17 * exact - 1 * byte, context) == 16);
    }
    CHECK(longest_context(kv, kv_bytes(kv, 0) - 1 * byte, 1 << 20) == -1);
    CHECK(longest_context(kv, 1 * TB, 4096) == 4096);
}

TEST_CASE("states of linear attention and Mamba do not grow with the context", "[physics]") {
    const Mixer delta =
        LinearAttention{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128, .conv = 4};
    const Mixer mamba = StateSpace{.inner = 8192, .state = 128, .conv = 4, .heads = 128, .groups = 8};
    for (const Mixer& mixer : {delta, mamba}) {
        const KvLaw law = kv_law(mixer, {});
        CHECK(kv_bytes(law, 1).base() == kv_bytes(law, 1e6).base());
        const Work near_start = core_work(mixer, decode_batch(4, 10)),
                   far = core_work(mixer, decode_batch(4, 1e6));
        CHECK(near_start.kv.base() == far.kv.base());
        CHECK(far.kv.base() == 4 * law.per_sequence.base());
    }
    // Qwen3-Next: 32 heads of 128 x 128 at 32 bits, and 3 inputs of 8192 channels at 16.
    CHECK(kv_law(delta, {}).per_sequence.base() == 32 * 128 * 128 * 4 + 3 * 8192 * 2);
}

TEST_CASE("MLA reads its latent once at decode and computes over expanded heads at prefill", "[physics]") {
    const LatentAttention a = deepseek_latent();
    const Work decode = core_work(a, decode_batch(1, 4096));
    CHECK(decode.kv.base() == 4096 * 576 * 2);
    CHECK(decode.flop.base() == 2.0 * 128 * (576 + 512) * 4096);
    const Work prefill = core_work(a, prefill_batch(1, 4096));
    CHECK(near(prefill.flop.base(), 2.0 * 128 * (192 + 128) * 4096 * 4097 / 2));
}

TEST_CASE("sparse selection reads its choice and scores everything", "[physics]") {
    LatentAttention a = deepseek_latent();
    a.indexer = Indexer{.heads = 64, .dim = 128, .top_k = 2048, .query_inputs = 1536};
    const Work near_start = core_work(a, decode_batch(1, 1000)), far = core_work(a, decode_batch(1, 100000));
    CHECK(near_start.kv.base() == 1000 * (1152 + 132));
    CHECK(far.kv.base() == 2048 * 1152 + 100000 * 132);
    CHECK(kv_law(a, {}).per_token.base() == 1152 + 132);
    a.indexer = Indexer{.top_k = 2048, .weights = false, .shared = true};
    CHECK(kv_law(a, {}).per_token.base() == 1152);
    CHECK(core_work(a, decode_batch(1, 100000)).kv.base() == 2048 * 1152);
}

TEST_CASE("a layer that shares a cache stores none but reads it", "[physics]") {
    SoftmaxAttention a{.heads = 8, .kv_heads = 2, .head_dim = 256, .value_dim = 256, .shares_kv = true};
    CHECK(kv_law(a, {}).per_token.base() == 0);
    const Work w = core_work(a, decode_batch(1, 1000));
    CHECK(w.kv.base() == 1000.0 * 2 * 512 * 2);
    CHECK(w.kv_written.base() == 0);
}

TEST_CASE("what the GPUs hold together is the model, for every way of cutting it", "[physics]") {
    const Model m = test::llama_3_8b();
    const double whole = weight_bytes(m).base();
    const Shard cut = shard(m, {.tp = 4, .pp = 4});
    double sum = 0;
    for (std::size_t s = 0; s < cut.stages.size(); ++s) sum += 4 * stage_weight_bytes(cut, s).base();
    // Norms are on every GPU, nothing else is held twice.
    const double norms = (2 * 32 + 1) * 4096.0 * 2;
    CHECK(near(sum, whole + 3 * norms, 1e-3));
    CHECK(sum >= whole);
}
