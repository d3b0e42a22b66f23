// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/plan.h"

#include <string>
#include <vector>

namespace headroom {

/// Engines that a plan can be printed for: vllm, sglang, trtllm.
std::vector<std::string> emit_targets();

/// The chosen plan as start-up commands, one per pool; "" when there is none. Flags are those of vLLM 0.10
/// and later, SGLang 0.4 and later and TensorRT-LLM 1.0 (`trtllm-serve`).
std::string emit_commands(const PlanAnswer& answer, const std::string& target);

}  // namespace headroom
