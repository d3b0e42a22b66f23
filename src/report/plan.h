// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/plan.h"
#include "report/render.h"

namespace headroom {

/// `emit`: "" or an engine to print the chosen plan for (report/emit.h).
Report report(const PlanAnswer& answer, const std::string& emit = "");

/// The text form, and what it shares with the JSON.
std::string plan_text(const PlanAnswer& answer, const std::string& emit);
double tokens_per_gpu(const Load& load, const Candidate& candidate);
/// US dollars per million output tokens, idle and spare GPUs paid for too.
std::optional<double> usd_per_million_tokens(const Load& load, const Candidate& candidate);
std::string mode_of(const Candidate& candidate);

}  // namespace headroom
