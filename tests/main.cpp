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

namespace {

// Suites that run at once, from several trees or as several subjects of one, do not share files.
class OwnTemporaryFolder {
  public:
    OwnTemporaryFolder() {
        if (::mkdtemp(path_.data()) == nullptr) return;
        made_ = ::setenv("TMPDIR", path_.c_str(), 1) == 0;
    }
    ~OwnTemporaryFolder() {
        std::error_code ignored;
        if (made_) std::filesystem::remove_all(path_, ignored);
    }
    OwnTemporaryFolder(const OwnTemporaryFolder&) = delete;
    OwnTemporaryFolder& operator=(const OwnTemporaryFolder&) = delete;

  private:
    std::string path_ = (std::filesystem::temp_directory_path() / "headroom-tests-XXXXXX").string();
    bool made_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    const OwnTemporaryFolder temporary;
    return Catch::Session().run(argc, argv);
}
