// SPDX-License-Identifier: Apache-2.0
#include "io/hf_quantization.h"

#include "check.h"
#include "io/model_reader.h"
#include "ops/tensor.h"

namespace {

using namespace headroom;

Model dense(const std::string& quantization) {
    return read_hf_config("config.json",
                          R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 4, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
        "quantization_config": )" +
                              quantization + "}")
        .model;
}

Model experts(const std::string& quantization) {
    return read_hf_config("config.json",
                          R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
        "num_hidden_layers": 4, "num_attention_heads": 128, "vocab_size": 129280, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
        "first_k_dense_replace": 1, "quantization_config": )" +
                              quantization + "}")
        .model;
}

std::string fault_of(const std::string& quantization) {
    try {
        dense(quantization);
    } catch (const InputError& e) {
        return e.what();
    }
    return "";
}

std::string stored(const Model& m, Role role) { return to_string(m.formats[role]); }

}  // namespace

TEST_CASE("each method of quantization is stored as it says", "[io]") {
    const auto attention = [](const std::string& quantization) {
        return stored(dense(quantization), Role::attention);
    };
    CHECK(attention(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})") == "fp8-block128");
    CHECK(attention(R"({"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": null})") ==
          "fp8");
    CHECK(attention(R"({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true})") ==
          "int4");
    CHECK(attention(R"({"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true})") ==
          "int4-g32-zp");
    CHECK(attention(R"({"quant_method": "gptq", "bits": 8, "group_size": -1})") == "int8-w");
    CHECK(attention(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})") == "nf4");
    CHECK(
        attention(
            R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_use_double_quant": true})") ==
        "nf4-dq");
    CHECK(attention(R"({"quant_method": "bitsandbytes", "load_in_8bit": true})") == "int8");
    CHECK(attention(R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]})") ==
          "nvfp4");
    CHECK(
        attention(
            R"({"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0":
        {"targets": ["Linear"], "input_activations": null,
         "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": true}}}})") ==
        "int4-g32");
    CHECK(
        attention(
            R"({"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {"group_0":
        {"targets": ["Linear"], "input_activations": {"num_bits": 8},
         "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}}})") == "fp8");
}

TEST_CASE("embedding, head and norms stay at 16 bits unless the config says otherwise", "[io]") {
    const Model m = dense(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})");
    for (const Role role : {Role::embedding, Role::head, Role::norm, Role::router})
        CHECK(stored(m, role) == "bf16");
    CHECK(stored(dense(R"({"quant_method": "modelopt", "quant_algo": "FP8"})"), Role::head) == "fp8");
    CHECK(stored(dense(R"({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["model.lm_head"]})"),
                 Role::head) == "fp8");
    CHECK(stored(dense(R"({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"]})"),
                 Role::head) == "bf16");
}

TEST_CASE("ignored modules keep 16 bits: by role, or in the layers that are named", "[io]") {
    // Kimi-K2.5's list: attention, shared experts and dense layers stay
    const Model k =
        experts(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"],
        "input_activations": null, "weights": {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": true}}},
        "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"]})");
    CHECK(stored(k, Role::expert) == "int4-g32");
    for (const Role role : {Role::attention, Role::shared_expert, Role::ffn, Role::head})
        CHECK(stored(k, role) == "bf16");
    CHECK(k.kinds.size() == 2);
    const Model n = experts(R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme":
        {"num_bits": 8, "type": "float"}, "ignore": ["model.layers.2.*", "model.layers.1.self_attn*"]})");
    CHECK(stored(n, Role::expert) == "nvfp4");
    const auto at = [&](std::size_t layer, Role role) {
        return to_string(formats_of(n, n.kinds[static_cast<std::size_t>(n.layout[layer])])[role]);
    };
    CHECK(at(0, Role::attention) == "nvfp4");
    CHECK(at(1, Role::attention) == "bf16");
    CHECK(at(1, Role::expert) == "nvfp4");
    CHECK(at(2, Role::attention) == "bf16");
    CHECK(at(2, Role::expert) == "bf16");
    CHECK(at(3, Role::attention) == "nvfp4");
    CHECK(at(3, Role::expert) == "nvfp4");
    CHECK(n.kv_format == storage_format("fp8"));
}

TEST_CASE("patterns name modules as the tools that write them mean it", "[io]") {
    CHECK(names_module("model.layers.0*", "layers.0.mlp.up_proj"));
    CHECK(names_module("language_model.model.layers.3.self_attn*", "layers.3.self_attn.q_proj"));
    CHECK(names_module("model.layers.*.self_attn", "layers.17.self_attn.q_proj"));
    CHECK(!names_module("model.layers.1.*", "layers.10.mlp.up_proj"));
    CHECK(names_module("*.mlp.shared_expert.*", "layers.4.mlp.shared_expert.gate_proj"));
    CHECK(names_module("lm_head", "lm_head"));
    CHECK(!names_module("gate", "layers.4.mlp.gate_proj"));
    CHECK(names_module("gate", "layers.4.mlp.gate"));
    CHECK(!names_module("re:(", "layers.4.mlp.gate"));
    CHECK(!names_module("mtp*", "layers.4.mlp.gate"));
}

TEST_CASE("a method that is not understood is refused by name", "[io]") {
    CHECK(fault_of(R"({"quant_method": "magic"})")
              .find("quantization_config.quant_method: \"magic\" is not understood") != std::string::npos);
    CHECK(fault_of(R"({"quant_method": "awg", "bits": 4})").find("did you mean \"awq\"?") !=
          std::string::npos);
    CHECK(fault_of(R"({"quant_method": "gptq", "bits": 3, "group_size": 128})").find("weights of 3 bits") !=
          std::string::npos);
    CHECK(fault_of(R"({"quant_method": "modelopt", "quant_algo": "W1A1"})")
              .find("\"W1A1\" is not understood") != std::string::npos);
}

TEST_CASE("scales count: DeepSeek-V3's blocks add four bytes per 16384 weights", "[io]") {
    const Model m = experts(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})");
    double expected = 0;
    const auto counts = layers_per_kind(m);
    for (const Tensor& t : outer_tensors(m)) expected += 2 * parameters(t);
    for (std::size_t i = 0; i < m.kinds.size(); ++i) {
        for (const Tensor& t : layer_tensors(m, m.kinds[i])) {
            const bool plain = t.role == Role::norm || t.role == Role::router;
            expected += counts[i] * parameters(t) * (plain ? 2 : 1 + 4.0 / 16384);
        }
    }
    CHECK(test::near(weight_bytes(m).base(), expected, 1e-12));
}
