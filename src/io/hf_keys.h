// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/json_reader.h"

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Keys of Hugging Face configs that change no size and no traffic: training, generation, tokens, positions.
bool key_is_harmless(std::string_view key);

/// A name that speaks of sizes, counts, patterns or switches of the architecture.
bool key_changes_the_answer(std::string_view key);

/// null, false, 0, "", [] and {} switch nothing on.
bool value_is_inert(const JsonValue& value);

/// The absent key that was probably meant by one that is misspelt, or "".
std::string key_meant(std::string_view key, const std::vector<std::string>& absent);

}  // namespace headroom
