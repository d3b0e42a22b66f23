// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace headroom {

/// The folder that holds hwprofiles/, models/, engines/ and workloads/: `given` (--data-dir), else
/// $HEADROOM_DATA, else beside the program or in its source or install tree. InputError when none of them
/// does.
std::string data_folder(const std::string& given);

/// The path of `name` in a catalogue (`kind` is its folder), or of a file when it is one. Names win over
/// files only when they hold no slash and no dot suffix. InputError with a suggestion when there is neither.
std::string find_entry(const std::string& data, const std::string& kind, const std::string& name);

/// Names in a catalogue, sorted.
std::vector<std::string> entry_names(const std::string& data, const std::string& kind);

}  // namespace headroom
