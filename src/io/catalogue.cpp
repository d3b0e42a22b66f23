// SPDX-License-Identifier: Apache-2.0
#include "io/catalogue.h"

#include "base/diagnostic.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace headroom {
namespace fs = std::filesystem;
namespace {

bool is_data_folder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path / "hwprofiles", ignored);
}

// A name cut short ("h100" or "H100" of h100-nvl, h100-pcie, h100-sxm) stands for all that go on with a dash.
std::vector<std::string> longer_names(std::string name, const std::vector<std::string>& names) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::vector<std::string> found;
    for (const std::string& each : names) {
        if (!name.empty() && each.rfind(name + "-", 0) == 0) found.push_back(each);
    }
    return found;
}

constexpr std::size_t kFew = 12;  // so many names are all told where none is like the one given

std::string joined(const std::vector<std::string>& names, std::size_t shown) {
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, names.size()); ++i) text += (i > 0 ? ", " : "") + names[i];
    return names.size() > shown ? text + " and more" : text;
}

}  // namespace

std::string data_folder(const std::string& given) {
    const char* variable = std::getenv("HEADROOM_DATA");
    for (const auto& [origin, folder] : {std::pair<std::string, std::string>{"--data-dir", given},
                                         {"HEADROOM_DATA", variable != nullptr ? variable : ""}}) {
        if (folder.empty()) continue;
        if (is_data_folder(folder)) return folder;
        refuse(origin, "", "\"" + folder + "\" holds no hwprofiles folder");
    }
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    // The program is in build/PRESET/ of the source tree, or in PREFIX/bin beside PREFIX/share/headroom.
    for (const fs::path& candidate :
         {program, program / ".." / "..", program / ".." / "share" / "headroom"}) {
        if (is_data_folder(candidate)) return fs::weakly_canonical(candidate).string();
    }
    refuse("", "",
           "the catalogues (hwprofiles/, models/, ...) were not found; name their folder with --data-dir");
}

std::string find_entry(const std::string& data, const std::string& kind, const std::string& name) {
    std::error_code ignored;
    const bool plain = name.find('/') == std::string::npos;
    const fs::path entry = fs::path(data) / kind / (name + ".yaml");
    // Relative where it is below the working folder, so that faults read as short as a person would write
    // them.
    const fs::path near = entry.lexically_proximate(fs::current_path(ignored));
    if (plain && fs::is_regular_file(entry, ignored))
        return near.begin()->string() == ".." ? entry.string() : near.string();
    if (fs::exists(name, ignored)) return name;
    const std::vector<std::string> names = entry_names(data, kind);
    if (!plain) refuse("", "", "no such file: " + name, did_you_mean(name, names));
    const std::string message = "no \"" + name + "\" in " + kind + "/, and no such file";
    const std::vector<std::string> longer = longer_names(name, names);
    if (longer.size() > 1) refuse("", "", message + "; there are " + joined(longer, kFew / 2));
    const std::string like = longer.empty() ? did_you_mean(name, names) : longer.front();
    if (like.empty() && !names.empty() && names.size() <= kFew)
        refuse("", "", message + "; there are " + joined(names, kFew));
    refuse("", "", message, like);
}

std::vector<std::string> entry_names(const std::string& data, const std::string& kind) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& file : fs::directory_iterator(fs::path(data) / kind, ignored)) {
        if (file.is_regular_file() && file.path().extension() == ".yaml")
            names.push_back(file.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace headroom
