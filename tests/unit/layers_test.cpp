// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace fs = std::filesystem;

namespace {

// The architecture: which layers each layer may include. An arrow only ever points to the left of the
// pipeline.
const std::map<std::string, std::set<std::string>> kMayInclude{
    {"base", {}},
    {"spec", {"base"}},
    {"io", {"base", "spec"}},
    {"ops", {"base", "spec"}},
    {"mapping", {"base", "spec", "ops"}},
    {"perf", {"base", "spec", "ops"}},
    {"memory", {"base", "spec", "ops"}},
    {"serving", {"base", "spec", "ops", "perf", "memory"}},
    {"planner", {"base", "spec", "ops", "mapping", "perf", "memory", "serving"}},
    {"answers", {"base", "spec", "ops", "mapping", "perf", "memory", "serving", "planner"}},
    {"report", {"base", "spec", "ops", "mapping", "perf", "memory", "serving", "planner", "answers"}},
    {"cli",
     {"base", "spec", "io", "ops", "mapping", "perf", "memory", "serving", "planner", "answers", "report",
      "validate"}},
};

std::vector<std::string> quoted_includes(const fs::path& file) {
    std::vector<std::string> found;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("#include \"", 0) == 0) found.push_back(line.substr(10, line.find('"', 10) - 10));
    }
    return found;
}

}  // namespace

TEST_CASE("every include follows the layer table", "[layers]") {
    int seen = 0;
    for (const auto& entry : fs::recursive_directory_iterator(headroom::test::source("src"))) {
        const std::string extension = entry.path().extension().string();
        if (extension != ".h" && extension != ".cpp") continue;
        const std::string layer = fs::relative(entry.path(), headroom::test::source("src")).begin()->string();
        INFO(entry.path().string());
        REQUIRE(kMayInclude.count(layer) == 1);
        for (const std::string& include : quoted_includes(entry.path())) {
            const std::string other = include.substr(0, include.find('/'));
            INFO("includes " + include);
            CHECK((other == layer || kMayInclude.at(layer).count(other) == 1));
            ++seen;
        }
    }
    CHECK(seen > 100);
}

TEST_CASE("validation prints nothing and runs no command", "[layers]") {
    int seen = 0;
    for (const auto& entry : fs::recursive_directory_iterator(headroom::test::source("validate"))) {
        if (!entry.is_regular_file()) continue;
        for (const std::string& include : quoted_includes(entry.path())) {
            INFO(entry.path().string() << " includes " << include);
            const std::string layer = include.substr(0, include.find('/'));
            CHECK(layer != "report");
            CHECK(layer != "cli");
            ++seen;
        }
    }
    CHECK(seen > 100);
}

TEST_CASE("only cli includes the command-line library, only io the YAML library", "[layers]") {
    for (const auto& entry : fs::recursive_directory_iterator(headroom::test::source("src"))) {
        if (!entry.is_regular_file()) continue;
        const std::string layer = fs::relative(entry.path(), headroom::test::source("src")).begin()->string();
        std::ifstream in(entry.path());
        for (std::string line; std::getline(in, line);) {
            INFO(entry.path().string());
            if (line.rfind("#include <CLI/", 0) == 0) CHECK(layer == "cli");
            if (line.rfind("#include <yaml-cpp/", 0) == 0) CHECK(layer == "io");
        }
    }
}

TEST_CASE("no two headers define a type of the same name, which the linker would mix up", "[layers]") {
    std::map<std::string, std::string> defined;
    for (const auto& entry : fs::recursive_directory_iterator(headroom::test::source("src"))) {
        if (entry.path().extension() != ".h") continue;
        std::ifstream in(entry.path());
        for (std::string line; std::getline(in, line);) {
            for (const std::string word : {"struct ", "class ", "enum class "}) {
                if (line.rfind(word, 0) != 0 || line.find('{') == std::string::npos) continue;
                const std::string name =
                    line.substr(word.size(), line.find_first_of(" :{", word.size()) - word.size());
                const auto [other, fresh] = defined.emplace(name, entry.path().string());
                INFO(name << " in " << entry.path().string() << " and " << other->second);
                CHECK(fresh);
            }
        }
    }
    CHECK(defined.size() > 50);
}

TEST_CASE("every source file says its licence in the first line", "[layers]") {
    const std::set<std::string> sources{".h", ".cpp", ".cu", ".cuh"};
    for (const char* folder : {"src", "tests", "validate", "kernels", "bench"}) {
        for (const auto& entry : fs::recursive_directory_iterator(headroom::test::source(folder))) {
            if (sources.count(entry.path().extension().string()) == 0) continue;
            std::ifstream in(entry.path());
            std::string line;
            std::getline(in, line);
            INFO(entry.path().string());
            CHECK(line == "// SPDX-License-Identifier: Apache-2.0");
        }
    }
}
