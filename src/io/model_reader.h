// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/map_reader.h"
#include "spec/model.h"

#include <string>
#include <variant>
#include <vector>

namespace headroom {

/// A model and what is to be said about how it was read.
struct ReadModel {
    Model model;
    std::vector<std::string> unused_keys;  ///< dotted paths of a config.json that do not change any figure
    std::vector<std::string> notes;        ///< what was assumed or left out
};

/// Reads our YAML, a Hugging Face `config.json`, or a folder that holds one; the content decides. Overrides
/// go by the paths of our YAML, for a config.json too. InputError with every fault of the file.
ReadModel read_model(const std::string& path, const Overrides& overrides = {});

/// A config.json. `extra_quantization` is the text of the `hf_quant_config.json` beside it, or "".
ReadModel read_hf_config(const std::string& path, const std::string& text,
                         const std::string& extra_quantization = "");

/// Our YAML (`schema: headroom.model/1`); `origin` names it in faults.
Model read_model_yaml(const std::string& origin, const std::string& text, const Overrides& overrides = {});

/// The model in our YAML. Reading it back gives an equal model.
std::string write_model_yaml(const Model& model);

/// "10*(5*local global) 2*local": names and repetitions of the layers, as short as periods allow.
std::string write_layout(const std::vector<int>& layout, const std::vector<std::string>& names);

/// The inverse; a fault is returned as a text, column from 0.
struct LayoutFault {
    std::size_t column = 0;
    std::string message;
    std::string word;  ///< the unknown name, if it is one
};
std::variant<std::vector<int>, LayoutFault> read_layout(const std::string& text,
                                                        const std::vector<std::string>& names);

}  // namespace headroom
