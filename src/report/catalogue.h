// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/model_facts.h"
#include "report/render.h"
#include "spec/engine.h"

#include <vector>

namespace headroom {

/// `list`: a line per entry. `show`: one entry, every figure with its source.
Report report_list(const std::vector<Hardware>& devices);
Report report(const Hardware& device);
Report report_list(const std::vector<Engine>& engines);
Report report(const Engine& engine);
Report report_list(const std::vector<ModelFacts>& models);
Report report(const ModelFacts& model, bool unused_keys);

}  // namespace headroom
