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

// Where config or published figure are known to differ from each other, and why.
struct Explained {
    const char* name;
    double difference;  // counted minus published
    const char* reason;
};
constexpr Explained kExplained[] = {
    {"OrionStarAI--Orion-14B", 414720,
     "norms are layer norms with biases: 81 x 5120; the figure counted them without"},
    {"THUDM--glm-4-9b", -32, "the published figure counts the 32 frequencies of the rotary embedding"},
    {"codellama--CodeLlama-34b-hf", 262144, "this config pads the vocabulary of 32000 to 32016"},
};

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
    const auto folders = config_folders();
    if (folders.empty()) return;
    std::ifstream file(fs::path(test::outside_data()) / "params.json");
    const auto published = nlohmann::json::parse(file);
    int compared = 0;
    for (const fs::path& folder : folders) {
        const std::string name = folder.filename().string();
        std::string refusal;
        const auto read = read_or_refusal(folder, refusal);
        if (!read || !published.contains(name) || published[name]["total"].is_null()) continue;
        const double figure = published[name]["total"].get<double>();
        double difference = count_parameters(read->model).total - figure;
        for (const Explained& e : kExplained) {
            if (name == e.name) difference -= e.difference;
        }
        INFO(name << ": counted " << count_parameters(read->model).total << ", published " << figure);
        CHECK(std::abs(difference) <= half_unit(figure));
        ++compared;
    }
    CHECK(compared > 80);
}
