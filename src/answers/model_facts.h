// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/kv_law.h"
#include "ops/tensor.h"
#include "spec/model.h"

#include <string>
#include <vector>

namespace headroom {

/// A run of layers of one kind, as a table shows it.
struct LayerFacts {
    std::string kind;   ///< name in the file
    std::string mixer;  ///< "gqa", "mla", ...
    int layers = 0;
    double parameters = 0;  ///< of one layer
    Bytes weights;          ///< of one layer
    KvLaw kv;
};

/// What a model weighs and keeps, whatever the device.
struct ModelFacts {
    Model model;
    ParameterCount parameters;
    Bytes weights;
    std::vector<LayerFacts> layers;
    ModelKv kv;
    std::vector<std::string> unused_keys;  ///< of the config that it was read from
    std::vector<std::string> notes;
};

ModelFacts model_facts(const Model& model);

}  // namespace headroom
