// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/json_reader.h"
#include "spec/model.h"

#include <string>
#include <vector>

namespace headroom {

/// Applies `quantization_config` (of the file or of its decoder) or the text of an `hf_quant_config.json` to
/// the formats of a model: by role where all layers agree, else by kind of layer. What is not understood is a
/// fault of `root`.
void read_quantization(JsonMap& root, JsonMap& decoder, const std::string& extra, Model& model,
                       std::vector<std::string>& notes);

}  // namespace headroom
