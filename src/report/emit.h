// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/plan.h"

#include <string>
#include <vector>

namespace headroom {

/// Engines that a plan can be printed for: vllm, sglang, trtllm.
std::vector<std::string> emit_targets();

/// The chosen plan as start-up commands, one per pool; "" when there is none. Flags as documented for vLLM
/// 0.10 to 0.19 (docs.vllm.ai, "Engine Arguments"), SGLang 0.5 (docs.sglang.io, "Server Arguments") and
/// TensorRT-LLM 1.0 and later (`trtllm-serve --help`, options of the LLM API in a file). None has context
/// parallelism as it is modelled here: cp must be 1.
std::string emit_commands(const PlanAnswer& answer, const std::string& target);

/// That some requests are longer than the model takes, in words; "" where none is.
std::string beyond_context_text(const PlanAnswer& answer);

}  // namespace headroom
