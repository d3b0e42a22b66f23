// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace {

// A transcript is commands ("$ headroom ..."), each followed by what it prints and, when it is not 0, "[exit
// N]", up to the next command or, in a document, the end of the block; other lines are kept as they are.
// HEADROOM_RECORD=1 rewrites the files with what the program prints now; read the
// difference before it is committed.
int replay(const fs::path& file) {
    std::ifstream in(file);
    const bool prose = file.extension() == ".md";
    std::string expected, actual;
    int commands = 0;
    bool printed = false;  // the lines at hand are what a command printed
    for (std::string line; std::getline(in, line);) {
        expected += line + "\n";
        const bool command = line.rfind("$ headroom", 0) == 0;
        if (command || (prose && line.rfind("```", 0) == 0)) printed = false;
        if (!printed) actual += line + "\n";
        if (!command) continue;
        const headroom::test::Outcome outcome =
            headroom::test::run_program(line.substr(std::string("$ headroom").size()));
        actual += outcome.text;
        if (outcome.exit_code != 0) actual += "[exit " + std::to_string(outcome.exit_code) + "]\n";
        printed = true;
        ++commands;
    }
    if (std::getenv("HEADROOM_RECORD") != nullptr)
        std::ofstream(file) << actual;
    else
        CHECK(actual == expected);
    return commands;
}

void replay_folder(const char* folder) {
    int files = 0;
    for (const auto& entry : fs::directory_iterator(headroom::test::source(folder))) {
        if (entry.path().extension() != ".txt") continue;
        SECTION(entry.path().filename().string()) { replay(entry.path()); }
        ++files;
    }
    CHECK(files > 0);
}

}  // namespace

TEST_CASE("commands print what their transcripts say", "[transcripts]") { replay_folder("tests/golden"); }

TEST_CASE("bad input is refused with its place, a suggestion and exit code 2", "[bad_input]") {
    replay_folder("tests/bad_input");
}

TEST_CASE("the README's and the documents' commands print what they say", "[transcripts]") {
    CHECK(replay(headroom::test::source("README.md")) > 0);
    for (const auto& entry : fs::directory_iterator(headroom::test::source("docs"))) {
        INFO(entry.path().string());
        if (entry.path().extension() == ".md") replay(entry.path());
    }
}
