// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/json_reader.h"
#include "spec/model.h"

#include <string>
#include <vector>

namespace headroom {

/// What a quantization config says about modules, by their names in the checkpoint.
struct QuantRules {
    struct Rule {
        std::vector<std::string> targets;  ///< patterns; "Linear" is every matrix product
        StorageFormat format;
    };
    std::vector<Rule> rules;           ///< the first one that fits decides
    std::vector<std::string> ignored;  ///< patterns of modules that stay in 16 bits
    bool head = false;                 ///< whether the head is quantized like any other product
    bool experts_only = false;
    std::optional<StorageFormat> expert;  ///< routed experts, where they differ from the rules
    std::optional<StorageFormat> kv;
};

/// Whether a pattern names a module: a glob, a regular expression ("re:..."), or a dotted part of the name.
/// What comes before "layers." does not count, since wrappers put prefixes there.
bool names_module(const std::string& pattern, const std::string& module);

/// Stores the model as the rules say: by role where all layers agree, else by kind of layer.
void apply_quantization(const QuantRules& rules, const std::string& model_type, Model& model);

/// Applies `quantization_config` (of the file or of its decoder) or the text of an `hf_quant_config.json`
/// (`extra`, or ""). A method that is not understood is a fault.
void read_quantization(JsonMap& root, JsonMap& decoder, const std::string& extra, Model& model,
                       std::vector<std::string>& notes);

}  // namespace headroom
