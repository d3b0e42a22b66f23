// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "serving/steady.h"

#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// What a plan must meet. Absent objectives are not checked.
struct Objectives {
    std::optional<Seconds> ttft;
    std::optional<Seconds> itl;
    double percentile = 0.99;
    double margin = 0.9;  ///< share of the sustainable rate that a replica may be loaded to
    int max_gpus = 4096;
};

/// One way to serve the load: replicas of one deployment.
struct Candidate {
    Deployment deployment;
    std::int64_t replicas = 0;
    std::int64_t gpus = 0;
    bool fits = true;
    bool meets = false;
    std::string why_not;    ///< "" when it meets every objective
    SteadyState state;      ///< of one replica
    Frequency sustainable;  ///< of one replica
    Bytes needs;            ///< per GPU, when it does not fit
};

/// What doubling one resource would buy the chosen plan.
struct Relief {
    std::string resource;
    std::string change;
    double throughput_gain = 1;  ///< sustainable rate over today's
};

enum class Verdict { ok, saturated, infeasible };
std::string to_string(Verdict verdict);

struct Plan {
    Verdict verdict = Verdict::infeasible;
    std::optional<std::size_t> best;    ///< index into candidates
    std::vector<Candidate> candidates;  ///< best first
    std::vector<Relief> relief;
    std::string
        reason;  ///< when there is none: which objective is missed by how much, and the nearest change
};

struct PlanInputs {
    Model model;
    Hardware hardware;
    Engine engine;
    Load load;                            ///< the whole rate
    std::vector<Deployment> deployments;  ///< to try; empty: all sensible ones
};

Plan plan(const PlanInputs& inputs, const Objectives& objectives);

/// Tensor parallel by powers of two within the scale-up domain, pipeline stages where one domain is too
/// small, data-parallel attention with expert parallelism for mixtures.
std::vector<Deployment> sensible_deployments(const Model& model, const Hardware& hardware);

}  // namespace headroom
