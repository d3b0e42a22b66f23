// SPDX-License-Identifier: Apache-2.0
#include "validate/served_recipes.h"

#include <cmath>

namespace headroom {
namespace {

constexpr double kMeanLength = 0.9;  // of the stated ones: even from 0.8 to 1
constexpr double kLongest = 200;     // tokens that a server allows beyond input and output
constexpr double kBatchWait = 20;
constexpr double kFrontEndTrtllm = 8000;  // tokens/s
constexpr double kFrontEndSglang = 12000;

void serve_trtllm(ServingRun& run) {
    if (run.model == "deepseek-r1")
        run.step_tokens = std::floor((run.concurrency + run.input + 127) / 64) * 64;
    if (run.model == "gpt-oss-120b") run.step_tokens = 20000;
    if (run.model != "llama-3.1-70b") return;
    run.step_tokens = run.input + run.output + kLongest;
    if (run.input == 1024 && run.output == 1024 && run.deployment.tp < 8) run.held_steps = kBatchWait;
}

}  // namespace

void apply_recipe(ServingRun& run, const std::string& source) {
    if (source.find("wip=") == std::string::npos) {
        const bool sglang = run.engine == "sglang";
        run.rounds = sglang ? Interval{10, 5, 3, ""} : Interval{20, 10, 6, ""};
        if (sglang || run.engine == "trtllm") run.front_end = sglang ? kFrontEndSglang : kFrontEndTrtllm;
        return;
    }
    run.rounds = {10, 10, 10, ""};
    if (run.engine == "trtllm") serve_trtllm(run);
    if (run.engine == "sglang") run.step_tokens = 32768;
    run.input *= kMeanLength;
    run.output *= kMeanLength;
}

}  // namespace headroom
