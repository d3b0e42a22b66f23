// SPDX-License-Identifier: Apache-2.0
#include "io/map_reader.h"
#include "spec/source_kinds.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace headroom {

std::vector<Source> read_sources(MapReader& root) {
    std::vector<Source> sources;
    auto found = root.optional_map("sources");
    if (!found) return sources;
    for (auto& [id, map] : found->maps()) {
        Source source;
        source.id = id;
        source.kind = map.choice<SourceKind>("kind", kSourceKinds);
        source.title = map.text("title");
        source.where = map.text("where", "");
        source.date = map.text("date", "");
        map.done();
        sources.push_back(std::move(source));
    }
    return sources;
}

void refuse_unreadable(const std::string& path) {
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed)) refuse(path, "", "is a folder, not a file");
    const bool there = std::filesystem::exists(path, failed);
    refuse(path, "", there || failed ? "cannot be read" : "no such file");
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) refuse_unreadable(path);
    std::ostringstream text;
    text << in.rdbuf();
    // A folder opens, and fails only when it is read.
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) refuse_unreadable(path);
    return text.str();
}

}  // namespace headroom
