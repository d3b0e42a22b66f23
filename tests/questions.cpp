// SPDX-License-Identifier: Apache-2.0
#include "questions.h"

#include <filesystem>
#include <fstream>
#include <map>

namespace headroom::test {
namespace {

namespace fs = std::filesystem;

// Models that the catalogue does not have, by what their cards and configs say.
const std::map<std::string, const char*> kConfigs{
    {"mistral-nemo", R"({"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 14336,
        "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 131072, "max_position_embeddings": 131072})"},
    {"one-layer", R"({"model_type": "llama", "hidden_size": 7168, "intermediate_size": 18432,
        "num_hidden_layers": 1, "num_attention_heads": 64, "num_key_value_heads": 16, "head_dim": 128,
        "vocab_size": 32000})"},
    {"qwen1.5-7b", R"({"model_type": "qwen2", "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 151936})"},
    {"qwen3-14b", R"({"model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 17408,
        "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 151936})"},
    {"qwen2.5-14b", R"({"model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 13824,
        "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "vocab_size": 152064})"},
    {"qwen3-vl-32b", R"({"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text",
        "hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}})"},
    {"qwen3.5-122b-a10b", R"({"model_type": "qwen3_5_moe", "text_config": {"model_type": "qwen3_5_moe_text",
        "hidden_size": 3072, "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 2,
        "head_dim": 256, "vocab_size": 248320, "linear_num_key_heads": 16, "linear_num_value_heads": 64,
        "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
        "num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 1024,
        "shared_expert_intermediate_size": 1024}})"},
    {"nemotron-h-8b", R"({"model_type": "nemotron_h", "hidden_size": 4096, "intermediate_size": 21504,
        "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
        "num_hidden_layers": 52, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128, "conv_kernel": 4, "n_groups": 8,
        "vocab_size": 131072})"},
    {"gemma-4-e4b", R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text",
        "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 42, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 256, "global_head_dim": 512, "sliding_window": 512,
        "num_kv_shared_layers": 18, "vocab_size": 262144}})"},
    {"gemma-3-4b", R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
        "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}})"},
    {"llama-1-30b", R"({"model_type": "llama", "hidden_size": 6656, "intermediate_size": 17920,
        "num_hidden_layers": 60, "num_attention_heads": 52, "vocab_size": 32000})"},
    {"hunyuan-image", R"({"model_type": "hunyuan_v1_dense", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "attention_head_dim": 128, "vocab_size": 128167, "cla_share_factor": 2, "use_cla": false})"},
    {"hunyuan-cla", R"({"model_type": "hunyuan_v1_dense", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "attention_head_dim": 128, "vocab_size": 128167, "cla_share_factor": 2, "use_cla": true})"}};

}  // namespace

std::string with_configs(const std::string& command) {
    std::string text = command;
    const auto at = text.find('@');
    if (at == std::string::npos) return text;
    const std::string name = text.substr(at + 1, text.find(' ', at) - at - 1);
    const fs::path folder = fs::temp_directory_path() / "headroom-questions" / name;
    fs::create_directories(folder);
    std::ofstream(folder / "config.json") << kConfigs.at(name);
    return text.replace(at, name.size() + 1, folder.string());
}

nlohmann::json ask(const std::string& command) {
    const std::string full = with_configs(command) + " --format json";
    const auto outcome = run_program(full, false);
    INFO(full);
    CHECK(outcome.exit_code <= 1);
    return nlohmann::json::parse(outcome.text, nullptr, false);
}

double number(const std::string& command, const char* pointer) {
    const nlohmann::json json = ask(command);
    const nlohmann::json::json_pointer at(pointer);
    if (json.is_discarded() || !json.contains(at) || !json[at].is_number()) return -1;
    return json[at].get<double>();
}

void check(const std::vector<Answer>& answers) {
    for (const Answer& a : answers) {
        const double given = number(a.command, a.pointer);
        INFO(a.source << ": headroom " << a.command << " says " << given << ", right is " << a.answer);
        CHECK(near(given, a.answer, a.tolerance));
    }
}

}  // namespace headroom::test
