// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "io/model_reader.h"
#include "ops/shard.h"
#include "ops/tensor.h"

namespace {

using namespace headroom;

// The sizes of Llama-3-8B, with entries put before them.
std::string llama_3_8b(const std::string& before = "") {
    return "{" + before + R"(
  "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "rope_theta": 500000.0, "rms_norm_eps": 1e-05})";
}

std::string fault_of(const std::string& text) {
    try {
        read_hf_config("config.json", text);
    } catch (const InputError& e) {
        return e.what();
    }
    return "";
}

double parameters_of(const std::string& text) {
    return count_parameters(read_hf_config("config.json", text).model).total;
}

}  // namespace

TEST_CASE("Llama's published parameters are counted exactly", "[io]") {
    CHECK(parameters_of(llama_3_8b()) == 8030261248);
    // Llama-2-7B: no num_key_value_heads means one per head.
    CHECK(parameters_of(R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null, "vocab_size": 32000})") ==
          6738415616);
    CHECK(parameters_of(R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
        "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256})") ==
          70553706496);
}

TEST_CASE("a key that changes the answer and is not understood is refused by name", "[io]") {
    CHECK(fault_of(llama_3_8b("\"num_memory_layers\": 4,"))
              .find("config.json:1:2: error: num_memory_layers: not understood") == 0);
    CHECK(fault_of(llama_3_8b("\"num_memory_layers\": 0,")).empty());
    CHECK(fault_of(llama_3_8b("\"favourite_colour\": \"blue\",")).empty());
}

TEST_CASE("misspelt, missing and mistyped keys are found with their place, all at once", "[io]") {
    const std::string faults = fault_of(R"({"model_type": "llama",
  "hidden_size": "4096",
  "num_hiden_layers": 32, "intermediate_size": 11008, "num_attention_heads": 32, "vocab_size": 32000})");
    CHECK(faults.find("config.json:2:3: error: hidden_size: a whole number is needed, not a text") !=
          std::string::npos);
    CHECK(faults.find("num_hidden_layers: missing; did you mean \"num_hiden_layers\"?") != std::string::npos);
    CHECK(fault_of(llama_3_8b("\"num_key_value_head\": 8,")) != "");
    CHECK(fault_of(R"({"model_type": "lama"})").find("did you mean \"llama\"?") != std::string::npos);
    CHECK(fault_of(llama_3_8b("\"vocab_size\": 3,")).find("given twice") != std::string::npos);
}

TEST_CASE("unused keys are listed", "[io]") {
    const ReadModel read = read_hf_config("config.json", llama_3_8b());
    CHECK(read.unused_keys == std::vector<std::string>{"rope_theta", "rms_norm_eps"});
}

TEST_CASE("Falcon's num_kv_heads counts only in the new architecture", "[io]") {
    const std::string falcon = R"("model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71,
        "num_hidden_layers": 32, "multi_query": true, "num_kv_heads": 71, "vocab_size": 65024)";
    const Model old =
        read_hf_config("config.json", "{" + falcon + ", \"new_decoder_architecture\": false}").model;
    CHECK(std::get<SoftmaxAttention>(old.kinds[0].mixer).kv_heads == 1);
    const Model renewed =
        read_hf_config("config.json", "{" + falcon + ", \"new_decoder_architecture\": true}").model;
    CHECK(std::get<SoftmaxAttention>(renewed.kinds[0].mixer).kv_heads == 71);
}

TEST_CASE("an explicit head_dim wins over hidden / heads", "[io]") {
    const Model m = read_hf_config("config.json", llama_3_8b("\"head_dim\": 64,")).model;
    CHECK(std::get<SoftmaxAttention>(m.kinds[0].mixer).head_dim == 64);
}
