// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/kv_law.h"
#include "spec/deployment.h"
#include "spec/model.h"

#include <string>
#include <vector>

namespace headroom {

/// What one GPU of each pipeline stage holds and does: a model of its own, with fewer heads, columns, experts
/// and layers. Time and memory both work on this value, so that they cannot disagree.
struct Shard {
    Deployment deployment;
    std::vector<Model> stages;  ///< one GPU's part of each stage
    std::vector<bool> has_embedding;
    std::vector<bool> has_head;
    std::int64_t vocabulary = 0;  ///< of the whole model, padded as it is cut
};

/// Why a model cannot be deployed so, each reason with the nearest degree that works; empty when it can.
std::vector<std::string> deployment_faults(const Model& model, const Deployment& deployment);

/// Requires deployment_faults to be empty.
Shard shard(const Model& model, const Deployment& deployment);

/// Weights of one GPU of a stage, those of a draft included.
Bytes stage_weight_bytes(const Shard& shard, std::size_t stage);

/// Weights of the fullest GPU, prediction layers not included.
Bytes largest_weight_bytes(const Shard& shard);

/// What a sequence keeps on one GPU of a stage. The format is the model's own or 16 bits.
ModelKv kv_of(const Model& part);
StorageFormat kv_format(const Model& model);

}  // namespace headroom
