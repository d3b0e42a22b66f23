// SPDX-License-Identifier: Apache-2.0
// Configs broken on purpose: each gives a model or faults with their place, never a crash and never both.
#include "check.h"
#include "io/model_reader.h"
#include "ops/shard.h"
#include "ops/step.h"
#include "ops/tensor.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <random>

namespace {

using namespace headroom;
namespace fs = std::filesystem;

const std::string kGood = R"({
  "model_type": "mixtral",
  "hidden_size": 4096,
  "intermediate_size": 14336,
  "num_hidden_layers": 32,
  "num_attention_heads": 32,
  "num_key_value_heads": 8,
  "num_local_experts": 8,
  "num_experts_per_tok": 2,
  "vocab_size": 32000
})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

std::string faults_of(const std::string& text) {
    try {
        read_hf_config("config.json", text);
    } catch (const InputError& e) {
        return e.what();
    }
    return "";
}

std::size_t lines(const std::string& text) {
    return text.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Everything that a question would ask of a model that was read.
void exercise(const Model& m) {
    CHECK(std::isfinite(count_parameters(m).total));
    CHECK(count_parameters(m).active <= count_parameters(m).total);
    CHECK(std::isfinite(weight_bytes(m).base()));
    for (const int tp : {1, 2}) {
        const Deployment d{.tp = tp};
        if (!deployment_faults(m, d).empty()) continue;
        const Shard part = shard(m, d);
        const double kv = kv_bytes(kv_of(part.stages[0]), 1000).base();
        CHECK(std::isfinite(kv));
        CHECK(kv >= 0);
        for (const Batch& batch : {decode_batch(4, 1000), prefill_batch(1, 1000)}) {
            const Work w = total_work(step_operators(part, batch));
            CHECK(std::isfinite(w.flop.base()));
            CHECK(w.flop.base() >= 0);
            CHECK(std::isfinite(hbm_bytes(w).base()));
        }
    }
}

void read_mutant(const std::string& text) {
    std::optional<ReadModel> read;
    std::string faults;
    try {
        read = read_hf_config("config.json", text);
    } catch (const InputError& e) {
        faults = e.what();
    }
    if (read)
        exercise(read->model);
    else
        CHECK(faults.find("config.json:") != std::string::npos);
}

constexpr std::array kValues{
    "-1",   "0",    "1",     "3",         "2.5", "1e18", "1e400", "99999999999999999999",
    "null", "true", "\"7\"", "[]",        "[0]", "{}",   "NaN",   "-Infinity",
    "\"\"", "[-1]", "[[]]",  "1000000000"};

// Where values of keys begin and end, by a scan of the text; strings, numbers and words only.
struct Span {
    std::size_t from, to;
};
std::vector<Span> values_in(const std::string& text) {
    std::vector<Span> spans;
    for (std::size_t at = text.find("\": "); at != std::string::npos; at = text.find("\": ", at + 1)) {
        const std::size_t from = at + 3;
        if (from >= text.size() || text[from] == '{' || text[from] == '[') continue;
        std::size_t to = from + 1;
        if (text[from] == '"')
            to = text.find('"', to) + 1;
        else
            while (to < text.size() && text.find_first_of(",}\n", to) != to) ++to;
        if (to > from) spans.push_back({from, to});
    }
    return spans;
}

std::string mutated(const std::string& text, const std::vector<Span>& values, std::mt19937& random) {
    const auto below = [&](std::size_t n) {
        return static_cast<std::size_t>(random()) % std::max<std::size_t>(1, n);
    };
    std::string mutant = text;
    switch (below(8)) {
        case 0:
            return mutant.substr(0, below(text.size()));
        case 1:
            mutant[below(text.size())] = static_cast<char>(below(256));
            return mutant;
        case 2: {
            const std::size_t from = below(text.size());
            return mutant.erase(from, below(60));
        }
        case 3: {
            const std::size_t from = below(text.size());
            return mutant.insert(below(text.size()), text.substr(from, below(60)));
        }
        default:
            break;
    }
    if (values.empty()) return mutant;
    const Span at = values[below(values.size())];
    return mutant.replace(at.from, at.to - at.from, kValues[below(kValues.size())]);
}

}  // namespace

TEST_CASE("broken configs are refused with a place", "[io]") {
    const struct {
        std::string text;
        const char* fault;
    } broken[] = {
        {"", "config.json:1:1: error: not valid JSON"},
        {"   \n ", "config.json:"},
        {"[]", "config.json:1:1: error: a mapping of keys to values is needed"},
        {"[{\"model_type\": \"llama\"}]", "config.json:1:1: error: a mapping of keys to values is needed"},
        {"12", "a mapping of keys to values is needed"},
        {"\"llama\"", "a mapping of keys to values is needed"},
        {"null", "a mapping of keys to values is needed"},
        {"{}", "config.json:1:1: error: model_type: missing"},
        {"{\"model_type\": null}", "model_type: missing"},
        {"{\"model_type\": 7}", "config.json:1:2: error: model_type: a text is needed, not a number"},
        {kGood.substr(0, 40), "not valid JSON"},
        {replaced(kGood, "4096,", "4096"), "config.json:4:"},
        {replaced(kGood, ": 32,", ": 0,"), "config.json:5:3: error: num_hidden_layers: 0 is out of range"},
        {replaced(kGood, ": 4096", ": -4096"), "hidden_size: -4096 is out of range"},
        {replaced(kGood, ": 4096", ": 1e30"), "hidden_size: "},
        {replaced(kGood, ": 4096", ": 1e999"), "not valid JSON: number overflow"},
        {replaced(kGood, ": 4096", ": 123456789012345678901234567890"), "hidden_size: "},
        {replaced(kGood, ": 4096", ": NaN"), "hidden_size: a whole number is needed, not NaN or Infinity"},
        {replaced(kGood, ": 4096", ": -Infinity"),
         "hidden_size: a whole number is needed, not NaN or Infinity"},
        {replaced(kGood, ": 4096", ": 4096.5"), "hidden_size: a whole number is needed, not a fraction"},
        {replaced(kGood, ": 4096", ": null"), "hidden_size: is null"},
        {replaced(kGood, ": 4096", ": {\"a\": null}"),
         "hidden_size: a whole number is needed, not a mapping"},
        {replaced(kGood, ": 4096", ": [[null]]"), "hidden_size: a whole number is needed, not a list"},
        {replaced(kGood, "s\": 32,\n  \"num_key", "s\": 0,\n  \"num_key"),
         "num_attention_heads: 0 is out of range"},
        {replaced(kGood, "\"num_local_experts\": 8", "\"num_local_experts\": 1000000"),
         "more experts than any model"},
        {replaced(kGood, "\"num_hidden_layers\": 32", "\"num_hidden_layers\": 999999999"),
         "layers are more than"},
        {replaced(kGood, "{\n", "{\"text_config\": [], "), "text_config: a mapping is needed, not a list"},
        {replaced(kGood, "{\n", "{\"architectures\": \"X\", "), "architectures: a list of texts is needed"},
        {replaced(kGood, "{\n", "{\"quantization_config\": 8, "), "quantization_config: "},
        {"{\"model_type\": \"llama\"} x", "config.json:1:2"},
        {std::string(1 << 20, '['), "nested deeper than"},
    };
    for (const auto& b : broken) {
        const std::string faults = faults_of(b.text);
        INFO(b.text.substr(0, 200) << "\n-> " << faults);
        CHECK(faults.find(b.fault) != std::string::npos);
        CHECK(faults.find("config.json:") == 0);
    }
}

TEST_CASE("one fault is told once", "[io]") {
    for (const auto& [from, to] : {std::pair{": 4096", ": \"4096\""},
                                   {"s\": 32,\n  \"num_key", "s\": 7,\n  \"num_key"},
                                   {"\"num_attention_heads\"", "\"num_atention_heads\""},
                                   {"\"vocab_size\": 32000", "\"vocab_size\": 32000, \"vocab_size\": 32000"},
                                   {"\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 9"},
                                   {"\"num_attention_heads\": 32", "\"num_attention_heads\": []"}}) {
        const std::string faults = faults_of(replaced(kGood, from, to));
        INFO(faults);
        CHECK(lines(faults) == 1);
    }
    // A slip is placed where it was made.
    CHECK(faults_of(replaced(kGood, "\"num_attention_heads\"", "\"num_atention_heads\"")) ==
          "config.json:6:3: error: num_attention_heads: missing; did you mean \"num_atention_heads\"?");
    // Two faults are two.
    CHECK(lines(faults_of(replaced(replaced(kGood, ": 4096", ": -1"), ": 14336", ": true"))) == 2);
}

TEST_CASE("a byte order mark, odd white space and ten megabytes of nothing do no harm", "[io]") {
    CHECK(faults_of("\xef\xbb\xbf" + kGood).empty());
    CHECK(faults_of("\n\t\r " + kGood + "\n\n").empty());
    CHECK(faults_of(std::string(10 << 20, ' ') + kGood).empty());
    const std::string deep =
        replaced(kGood, "{\n", "{\"x\": " + std::string(5 << 20, '[') + std::string(5 << 20, ']') + ",\n");
    CHECK(faults_of(deep).find("nested deeper than") != std::string::npos);
}

TEST_CASE("folders and files that are no config are refused by name", "[io]") {
    const fs::path folder = fs::temp_directory_path() / "headroom-broken";
    fs::create_directories(folder / "config.json");
    const auto fault = [](const fs::path& path) -> std::string {
        try {
            read_model(path.string());
        } catch (const InputError& e) {
            return e.what();
        }
        return "";
    };
    CHECK(fault(folder).find("is a folder, not a file") != std::string::npos);
    fs::remove(folder / "config.json");
    CHECK(fault(folder).find("holds no config.json") != std::string::npos);
    for (const char* text : {"", "[]", "7", "\xef\xbb\xbf"}) {
        std::ofstream(folder / "config.json") << text;
        INFO(text);
        CHECK(fault(folder).find("config.json:1:") != std::string::npos);
        fs::remove(folder / "config.json");
    }
}

TEST_CASE("mutated configs are read or refused, and never break", "[outside]") {
    const std::string data = test::outside_data();
    if (data.empty()) {
        WARN("skipped: no folder of real configs");
        return;
    }
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(fs::path(data) / "configs")) {
        if (entry.is_directory()) files.push_back(entry.path() / "config.json");
    }
    std::sort(files.begin(), files.end());
    std::mt19937 random(20240607);
    const char* asked = std::getenv("HEADROOM_MUTANTS");
    const int mutants = asked != nullptr ? std::atoi(asked) : 12;
    for (const fs::path& file : files) {
        const std::string text = read_file(file.string());
        const std::vector<Span> values = values_in(text);
        for (int i = 0; i < mutants; ++i) {
            std::string mutant = mutated(text, values, random);
            if (random() % 4 == 0) mutant = mutated(mutant, values_in(mutant), random);
            INFO(file.string() << " mutant " << i);
            read_mutant(mutant);
        }
    }
}
