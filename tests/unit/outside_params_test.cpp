// SPDX-License-Identifier: Apache-2.0
// Real configs against published parameter counts. Skips, and says so, where the data is not there.
#include "check.h"
#include "io/model_reader.h"
#include "ops/tensor.h"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

namespace {

using namespace headroom;
namespace fs = std::filesystem;

std::vector<fs::path> config_folders() {
    std::vector<fs::path> folders;
    const std::string data = test::outside_data();
    if (data.empty()) return folders;
    for (const auto& entry : fs::directory_iterator(fs::path(data) / "configs")) {
        if (entry.is_directory()) folders.push_back(entry.path());
    }
    return folders;
}

// 0 and the reason when the file is refused.
std::optional<ReadModel> read_or_refusal(const fs::path& folder, std::string& refusal) {
    try {
        return read_model(folder.string());
    } catch (const InputError& e) {
        refusal = e.what();
        return std::nullopt;
    }
}

// A figure such as 284e9 is exact to half a unit of its last digit that is not zero; one that uses all its
// digits is exact.
double half_unit(double figure) {
    double unit = 1;
    while (std::fmod(figure, unit * 10) == 0) unit *= 10;
    return unit < 1000 ? 0 : unit / 2;
}

// Where a config and the published figure are known to differ, and why.
struct Explained {
    const char* name;
    double difference;  // counted minus published
    const char* reason;
};
constexpr Explained kExplained[] = {
    {"OrionStarAI--Orion-14B", 414720,
     "its norms are layer norms with biases: 81 x 5120; the figure left them out"},
    {"THUDM--glm-4-9b", -32, "the published figure counts the 32 frequencies of the rotary embedding"},
    {"codellama--CodeLlama-34b-hf", 262144,
     "this config pads the vocabulary of 32000 to 32016: 2 x 16 x 8192"},
    {"intfloat--e5-mistral-7b-instruct", -131072000,
     "an embedding model has no head; the figure, counted from the sizes, has one: 32000 x 4096"},
    {"meta-llama--Llama-4-Scout-17B-16E-Instruct", -1230138880,
     "109e9 counts the vision tower and its projector"},
    {"nvidia--GLM-5.2-NVFP4", -534198528,
     "57 of its 78 layers share a choice and have no indexer: 57 x 9371904"},
    {"Qwen--Qwen3.5-397B-A17B", -653649664, "397e9 counts the vision tower"},
    {"stepfun-ai--Step-3.7-Flash", 956130368, "published as 196B and as 196.8B: cut off, not rounded"},
};

// The same for active parameters.
constexpr Explained kExplainedActive[] = {
    {"Qwen--Qwen3-30B-A3B", 53032704, "3.35e9 is published as 3.3: cut off, not rounded"},
    {"deepseek-ai--DeepSeek-V2-Lite", 51434496, "2.45e9 without the embedding is published as 2.4: cut off"},
    {"nvidia--GLM-5.2-NVFP4", -534198528, "the indexers that 57 layers do not have"},
};

// Active parameters have three meanings on model cards: all that a token uses, without the embedding that is
// only looked up, and without the head too.
bool is_one_meaning(const Model& m, double figure, double explained) {
    const ParameterCount count = count_parameters(m);
    const double table = static_cast<double>(m.vocabulary) * static_cast<double>(embedding_width(m));
    const double slack = half_unit(figure);
    for (const double meaning : {count.active, count.active - table, count.active_without_embedding}) {
        if (std::abs(meaning - explained - figure) <= slack) return true;
    }
    return false;
}

// Every config that is understood with its published figure of this key; how many there are.
template <class Check>
int for_each_published(const char* key, Check check) {
    const auto folders = config_folders();
    if (folders.empty()) return 0;
    std::ifstream file(fs::path(test::outside_data()) / "params.json");
    const auto published = nlohmann::json::parse(file);
    int compared = 0;
    for (const fs::path& folder : folders) {
        const std::string name = folder.filename().string();
        std::string refusal;
        const auto read = read_or_refusal(folder, refusal);
        if (!read || !published.contains(name) || published[name][key].is_null()) continue;
        check(name, read->model, published[name][key].template get<double>());
        ++compared;
    }
    return compared;
}

template <std::size_t N>
double explained(const Explained (&list)[N], const std::string& name) {
    double difference = 0;
    for (const Explained& e : list)
        if (name == e.name) difference = e.difference;
    return difference;
}

}  // namespace

TEST_CASE("every config is understood or refused by name", "[outside]") {
    const auto folders = config_folders();
    if (folders.empty()) {
        WARN("skipped: no folder of real configs");
        return;
    }
    for (const fs::path& folder : folders) {
        std::string refusal;
        const auto read = read_or_refusal(folder, refusal);
        INFO(folder.filename().string());
        if (read) {
            CHECK(count_parameters(read->model).total > 0);
            CHECK(!read->model.layout.empty());
        } else {
            CHECK(refusal.find("error: ") != std::string::npos);
            CHECK(refusal.find("config.json") != std::string::npos);
        }
    }
}

TEST_CASE("our YAML of every config reads back as the same model", "[outside]") {
    for (const fs::path& folder : config_folders()) {
        std::string refusal;
        const auto read = read_or_refusal(folder, refusal);
        if (!read) continue;
        INFO(folder.filename().string());
        const std::string yaml = write_model_yaml(read->model);
        const Model back = read_model_yaml("written", yaml);
        CHECK(back == read->model);
        CHECK(write_model_yaml(back) == yaml);
    }
}

TEST_CASE("parameters are those that were published", "[outside]") {
    const int compared =
        for_each_published("total", [](const std::string& name, const Model& m, double figure) {
            const double counted = count_parameters(m).total;
            INFO(name << ": counted " << counted << ", published " << figure);
            CHECK(std::abs(counted - figure - explained(kExplained, name)) <= half_unit(figure));
        });
    CHECK((compared > 80 || config_folders().empty()));
}

TEST_CASE("active parameters are those that were published, in one of the card's meanings", "[outside]") {
    const int compared =
        for_each_published("active", [](const std::string& name, const Model& m, double figure) {
            const ParameterCount count = count_parameters(m);
            INFO(name << ": counted " << count.active << " or " << count.active_without_embedding
                      << ", published " << figure);
            CHECK(is_one_meaning(m, figure, explained(kExplainedActive, name)));
        });
    CHECK((compared > 20 || config_folders().empty()));
}
