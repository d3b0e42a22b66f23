// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/shard.h"
#include "serving/steady.h"
#include "spec/deployment.h"
#include "spec/interval.h"
#include "spec/routing.h"
#include "validate/compare.h"
#include "validate/csv.h"

#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// A served benchmark at constant concurrency: a new request starts when one ends.
struct ServingRun {
    std::string id;
    std::string engine;   ///< profile name: vllm, sglang, trtllm
    std::string version;  ///< as the row says; often empty
    std::string model;    ///< catalogue name
    std::string hardware;
    std::string weights;  ///< format asked for beyond the model's own config; "" where the config says it
    std::string kv;
    bool disaggregated = false;
    Routing routing;                 ///< of tokens to experts
    double waiting = 0;              ///< requests in flight beyond the slots of the engine
    double held_steps = 0;           ///< steps that a prompt is held back for others
    double step_tokens = 0;          ///< most of one step, as the engine was started; 0: the profile's
    double front_end = 0;            ///< tokens/s above which prompts wait outside the engine; 0: not seen
    Interval rounds{20, 10, 6, ""};  ///< requests per client: of the shortest, expected and longest wait
    double input = 0;                ///< tokens of a prompt, on average
    double output = 0;               ///< tokens generated, on average
    double concurrency = 0;          ///< requests in flight
    Deployment deployment;           ///< of the decoding replica
    Seconds ttft;
    Seconds tpot;
    int line = 0;
};

/// Rows of the aiconfigurator project's end-to-end sample (columns silicon_ttft_ms, silicon_tpot_ms);
/// nothing if the header is another. What the columns turn out to mean:
/// - where `moe_tp_size` and `moe_ep_size` both say the degree, `tp_size` (or `attention_dp_size`) holds
///   their product; the row's identifier has the degrees as run;
/// - in TensorRT-LLM's 1.0.0rc3 rows TTFT grows with the output as if one request always waited for a slot;
///   that one does not decode;
/// - rows of the published benchmark (those that say `wip`) have the KV format of its scripts;
/// - `nvfp4` of gpt-oss is the mxfp4 of its own config (Hopper has no fp4 units).
std::optional<std::vector<ServingRun>> serving_runs(const CsvTable& table, const std::string& file);

/// "meta-llama/Llama-3.1-8B-Instruct-FP8" is the model "llama-3.1-8b"; how it is stored is said apart.
std::string catalogue_name(const std::string& path);

/// A series of runs (one engine version and model) of which more than this share beats the floor is not
/// believed at all.
inline constexpr double kMostBelowFloor = 0.1;

/// The engine as it was started for the run.
Engine served_engine(const ServingRun& run, Engine engine);

/// What a run asks of its engine, `served_engine`.
struct ServedLoad {
    Shard parts;
    Load load;
    double batch = 1;        ///< sequences decoding at once
    bool saturated = false;  ///< the KV cache does not hold all requests in flight: prompts queue for room
};
ServedLoad served_load(const ServingRun& run, const Model& model, const Hardware& hardware,
                       const Engine& engine);

/// Predictions of a run.
struct ServingTimes {
    TimeEstimate ttft;
    TimeEstimate tpot;
    double batch = 1;        ///< sequences decoding at once
    bool follows = true;     ///< the front end, at this rate
    bool saturated = false;  ///< as of the load, or the front end does not follow
};
ServingTimes serving_times(const ServingRun& run, const Model& model, const Hardware& hardware,
                           const Engine& engine);

/// Routing of the benchmarks' random tokens. vLLM 0.19, whose expert kernels the device's tables hold, fits
/// its runs of gpt-oss-120b alike for exponents from 0.1 to 0.8, and with a quarter more error at 0.
inline constexpr Routing kRandomTokens{RoutingKind::power_law, 0.4};

/// The model as the run serves it: with its weight and KV formats and its routing.
Model served_model(const ServingRun& run, Model model);

/// Adds a TPOT and a TTFT case for each run.
void add_serving(ValidateAnswer& answer, const std::vector<ServingRun>& runs, const std::string& file,
                 const Profiles& profiles);

}  // namespace headroom
