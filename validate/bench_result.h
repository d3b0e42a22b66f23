// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"

#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// One run of a benchmark program, as its file tells it. What the file does not tell is 0 or "".
struct BenchResult {
    std::string program;  ///< "vLLM bench serve", "llama-bench", ...
    std::string where;    ///< file:line
    std::string model;    ///< as the file names it
    std::string device;
    std::string engine;  ///< profile name
    std::string version;
    std::string weights, kv;  ///< formats beyond the model's own config
    int tp = 0, pp = 0, ep = 0, dp = 0;
    double input = 0, output = 0;  ///< mean tokens of a request
    double concurrency = 0;        ///< requests in flight
    bool burst = false;            ///< all requests were sent at once: waiting is in their TTFT
    double requests = 0;           ///< that were finished
    std::string doubt;             ///< why its times are shown and not counted
    Seconds ttft, tpot, itl;       ///< means
    double output_rate = 0;        ///< tokens generated per second, all requests together

    // llama-bench: one sequence, `output` tokens after `input` prompt tokens after `depth` cached ones.
    bool single = false;
    double depth = 0;
    double rate = 0;    ///< tokens per second
    double ubatch = 0;  ///< prompt tokens in one step
};

/// Reads what `vllm bench serve --save-result`, SGLang's bench_serving, AIPerf (JSON, CSV), trtllm-bench
/// (report JSON, printed report) and llama-bench (Markdown, CSV, JSON, JSONL) write; nothing when the text is
/// none of them. A damaged one is an InputError with its line.
std::optional<std::vector<BenchResult>> bench_results(const std::string& text, const std::string& file);

// The formats, each told by its content.
std::optional<std::vector<BenchResult>> json_bench_results(const std::string& text, const std::string& file);
std::optional<std::vector<BenchResult>> llama_bench_results(const std::string& text, const std::string& file);
std::optional<std::vector<BenchResult>> text_bench_results(const std::string& text, const std::string& file);

}  // namespace headroom
