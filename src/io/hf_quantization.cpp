// SPDX-License-Identifier: Apache-2.0
#include "io/hf_quantization.h"

namespace headroom {

void read_quantization(JsonMap& root, JsonMap& decoder, const std::string&, Model&,
                       std::vector<std::string>&) {
    if (decoder.has("quantization_config"))
        decoder.fault("quantization_config", "not understood");
    else if (root.has("quantization_config"))
        root.fault("quantization_config", "not understood");
}

}  // namespace headroom
