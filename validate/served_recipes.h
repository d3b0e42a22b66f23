// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/serving_cases.h"

#include <string>

namespace headroom {

/// What is public of how a row was measured, beyond its columns: by its `silicon_data_source`.
///
/// Rows of the InferenceMAX benchmark ("wip=" in the source; github.com/SemiAnalysisAI/InferenceX, its
/// benchmarks/*.sh): `bench_serving --num-prompts 10 x concurrency --request-rate inf --ignore-eos
/// --random-range-ratio 0.8`, which draws lengths evenly from 0.8 to 1 times the stated ones, and reports
/// means. Of TensorRT-LLM's servers
/// - DeepSeek-R1 takes (concurrency + input + 127) / 64 * 64 tokens in a step, so one prompt; Llama-70B the
///   longest request; gpt-oss 20,000;
/// - Llama-70B with 1,024 tokens in and out on fewer than 8 GPUs waits up to 20 steps for a second prompt
///   (`batch_wait_timeout_iters`).
/// SGLang's DeepSeek-R1 takes 32,768 tokens in a step.
///
/// Others are aiconfigurator's own runs; how many requests a client sent is not given. In those of one server
/// TTFT leaves every prediction, up to twentyfold, and grows with the output, from some 8,000 tokens/s on
/// (TensorRT-LLM 1.0.0rc3) or 12,000 (SGLang): a front end, or the client, that does not follow. Above that
/// rate a run counts as saturated.
void apply_recipe(ServingRun& run, const std::string& source);

}  // namespace headroom
