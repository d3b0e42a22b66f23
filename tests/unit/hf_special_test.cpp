// SPDX-License-Identifier: Apache-2.0
// Models whose layers share weights, attend to images, make no logits or hold tables for every layer.
#include "catalogue.h"
#include "memory/grouped.h"
#include "ops/shard.h"
#include "ops/step.h"
#include "ops/tensor.h"

namespace {

using namespace headroom;
using test::near;

Model read(const std::string& text) { return read_hf_config("config.json", text).model; }

// 54 layers, nine of them with a shared block in front.
std::string zamba2(int blocks) {
    std::string types;
    for (int i = 0; i < 54; ++i)
        types += std::string(i > 0 ? ", " : "") + (i % 6 == 5 ? "\"hybrid\"" : "\"mamba\"");
    return R"({"model_type": "zamba2", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 54,
        "num_attention_heads": 32, "num_key_value_heads": 32, "attention_head_dim": 160, "vocab_size": 32000,
        "mamba_d_state": 64, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_ngroups": 1, "n_mamba_heads": 80,
        "adapter_rank": 128, "num_mem_blocks": )" +
           std::to_string(blocks) + ", \"layers_block_type\": [" + types + "]}";
}

const std::string kVision = R"({"model_type": "mllama", "text_config": {"model_type": "mllama_text_model",
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 40, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38]},
    "vision_config": {"image_size": 560, "patch_size": 14, "max_num_tiles": 4}})";

double weights_read(const Model& m, const Batch& batch) {
    return total_work(step_operators(shard(m, {}), batch)).weights.base();
}

}  // namespace

TEST_CASE("Zamba2's shared blocks are stored once and run wherever they are used", "[io]") {
    const Model two = read(zamba2(2)), one = read(zamba2(1));
    // The card of Zamba2-2.7B, whose two blocks take turns, says 2.7B; the arXiv report 2411.15242 the
    // layout.
    CHECK(near(count_parameters(two).total, 2.66e9, 5e-3));
    // A block: 3 x 5120 x 5120 + 5120 x 2560 of attention, 3 x 2560 x 10240 of feed-forward, norms of 5120 +
    // 2560
    const double block = 3.0 * 5120 * 5120 + 5120.0 * 2560 + 3.0 * 2560 * 10240 + 7680;
    CHECK(count_parameters(two).total - count_parameters(one).total == block);
    CHECK((weight_bytes(two) - weight_bytes(one)).base() == 2 * block);
    // Nine caches of 32 heads of 160, whatever is stored.
    CHECK(growth(kv_of(one)).base() == 9.0 * 2 * 32 * 160 * 2);
    CHECK(growth(kv_of(two)).base() == growth(kv_of(one)).base());
    // A step reads the block nine times: it does not fit into a cache.
    const Batch step = decode_batch(1, 100);
    CHECK(weights_read(two, step) == weights_read(one, step));
    CHECK(weights_read(one, step) > weight_bytes(one).base() + 7 * 2 * block);
    // Stages hold the blocks that they use.
    const Shard stages = shard(two, {.pp = 2});
    CHECK((stage_weight_bytes(stages, 0) + stage_weight_bytes(stages, 1)).base() >
          weight_bytes(two).base() + 2 * block);
    CHECK(read_model_yaml("written", write_model_yaml(two)) == two);
}

TEST_CASE("Llama-3.2-Vision's text tower keeps an image per sequence in eight layers", "[io]") {
    const Model m = read(kVision);
    // Published as 9.78B beside a vision tower of 0.9B: 10.7B together
    CHECK(count_parameters(m).total ==
          32.0 * 218112000 + 8.0 * 218112258 + (128264.0 + 128256) * 4096 + 4096);
    CHECK(near(count_parameters(m).total, 9.78e9, 1e-3));
    // 32 layers grow; 8 hold 4 tiles of 40 x 40 patches and a class token
    CHECK(growth(kv_of(m)).base() == 32.0 * 4096);
    CHECK(fixed_part(kv_of(m)).base() == 8.0 * 4096 * 4 * 1601);
    // A decode step reads text and image; only the first step of a prompt writes the image's keys and values.
    const auto kv = [&](const Batch& batch) { return total_work(step_operators(shard(m, {}), batch)); };
    CHECK(kv(decode_batch(1, 1000)).kv.base() == 32.0 * 4096 * 1000 + 8.0 * 4096 * 6404);
    CHECK(kv(decode_batch(1, 1000)).kv_written.base() == 32.0 * 4096);
    CHECK(kv(prefill_batch(1, 10)).kv_written.base() == 32.0 * 4096 * 10 + 8.0 * 4096 * 6404);
    CHECK(near((kv(prefill_batch(1, 10)).weights - kv(decode_batch(10, 100)).weights).base(),
               8.0 * 2 * 1024 * 4096 * 2));
    // In pages of 16 tokens of eight layers: 401 for the image, beside four groups of text layers
    const PageLayout layout = page_layout(kv_of(m), 16);
    CHECK(layout.block == 16);
    CHECK(layout.page == 8 * 16 * 4096);
    REQUIRE(layout.groups.size() == 5);
    for (const PageGroup& g : layout.groups) CHECK((g.token > 0 || fixed_pages(layout, g) == 401));
    // Tensor parallelism cuts the image's heads too.
    CHECK(fixed_part(kv_of(shard(m, {.tp = 4}).stages[0])).base() == 8.0 * 1024 * 4 * 1601);
    CHECK(read_model_yaml("written", write_model_yaml(m)) == m);
}

TEST_CASE("an embedding model has no head and makes no logits", "[io]") {
    const std::string sizes = R"("model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000})";
    const Model plain = read("{" + sizes);
    const Model embeds = read("{\"architectures\": [\"MistralModel\"], " + sizes);
    CHECK(count_parameters(plain).total - count_parameters(embeds).total == 32000.0 * 4096);
    // e5-mistral-7b-instruct is published with 7.11B parameters
    CHECK(count_parameters(embeds).total == 7110660096);
    CHECK(near(weights_read(plain, prefill_batch(1, 512)) - weights_read(embeds, prefill_batch(1, 512)),
               2 * 32000.0 * 4096));
    for (const char* name : {"MistralForCausalLM", "GPT2LMHeadModel", "ChatGLMModel", "LLaDAModelLM"})
        CHECK(read(std::string("{\"architectures\": [\"") + name + "\"], " + sizes) == plain);
    for (const int pp : {1, 2}) {
        const Shard stages = shard(embeds, {.pp = pp});
        Bytes sum;
        for (std::size_t s = 0; s < stages.stages.size(); ++s) sum += stage_weight_bytes(stages, s);
        CHECK(near(sum.base(), weight_bytes(embeds).base() + (pp - 1) * 2 * 4096.0));
    }
    CHECK(read_model_yaml("written", write_model_yaml(embeds)) == embeds);
}

TEST_CASE("tables for every layer are cut by vocabulary, gates are on every GPU", "[io]") {
    // vLLM's gemma3n.py: VocabParallelEmbedding, ColumnParallelLinear and ReplicatedLinear
    for (const char* name : {"gemma-3n-e4b", "gemma-4-e2b"}) {
        INFO(name);
        const Model m = test::model(name);
        const Model part = shard(m, {.tp = 2}).stages[0];
        REQUIRE(m.extras[0].name == "per_layer_embedding");
        CHECK(part.extras[0].rows == m.extras[0].rows / 2);
        CHECK(part.extras[1].rows == m.extras[1].rows / 2);
        for (const ExtraTensor& e : part.kinds[0].extras) {
            if (e.name != "per_layer_input_gate") continue;
            CHECK(e.rows == 256);
        }
        // Half of the table and of the embedding are more than a quarter of the whole.
        const double saved = weight_bytes(m).base() - largest_weight_bytes(shard(m, {.tp = 2})).base();
        CHECK(saved > 0.47 * weight_bytes(m).base());
        // The first stage alone looks tokens up.
        const Shard stages = shard(m, {.pp = 2});
        CHECK(stages.stages[1].extras.size() == m.extras.size() - 1);
        // A row of the table is read for every token.
        const double row = 2.0 * static_cast<double>(m.extras[0].columns);
        Model bare = m;
        bare.extras.erase(bare.extras.begin());
        CHECK(
            near(weights_read(m, decode_batch(1, 10)) - weights_read(bare, decode_batch(1, 10)), row, 1e-6));
    }
}

TEST_CASE("layers that share a choice of tokens have no indexer, keys or scoring of their own", "[io]") {
    const auto glm = [](const std::string& more) {
        return read(R"({"model_type": "glm_moe_dsa", "hidden_size": 6144, "intermediate_size": 12288,
            "num_hidden_layers": 78, "num_attention_heads": 64, "q_lora_rank": 2048, "kv_lora_rank": 512,
            "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "n_routed_experts": 256,
            "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 2048,
            "first_k_dense_replace": 3, "vocab_size": 154880, "index_n_heads": 32, "index_head_dim": 128,
            "index_topk": 2048)" +
                    more + "}");
    };
    // GLM-5.2's period: three layers, then one of four
    const Model all = glm(""), period = glm(R"(, "index_topk_freq": 4, "index_skip_topk_offset": 3)");
    std::string types;
    for (int i = 0; i < 78; ++i)
        types += std::string(i > 0 ? ", " : "") + (i < 3 || (i - 2) % 4 == 0 ? "\"full\"" : "\"shared\"");
    CHECK(glm(", \"indexer_types\": [" + types + "]") == period);
    CHECK(count_parameters(all).total - count_parameters(period).total == 57.0 * 9371904);
    CHECK(growth(kv_of(all)).base() - growth(kv_of(period)).base() == 57.0 * 132);
    const auto flop = [](const Model& m) {
        return total_work(step_operators(shard(m, {}), decode_batch(1, 100000))).flop.base();
    };
    CHECK(flop(all) - flop(period) > 57.0 * 2 * 32 * 128 * 100000);
    CHECK_THROWS_AS(glm(R"(, "index_topk_freq": 4)"), InputError);
    CHECK_THROWS_AS(glm(R"(, "indexer_types": ["full"])"), InputError);
}
