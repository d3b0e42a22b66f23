// SPDX-License-Identifier: Apache-2.0
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "check.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace headroom::test {

std::string outside_data() {
    namespace fs = std::filesystem;
    const char* named = std::getenv("HEADROOM_TEST_DATA");
    const fs::path folder =
        named != nullptr ? fs::path(named) : fs::path(HEADROOM_SOURCE_DIR) / ".." / "shared" / "data";
    return fs::is_directory(folder) ? fs::weakly_canonical(folder).string() : "";
}

}  // namespace headroom::test

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
