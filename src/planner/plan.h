// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "serving/simulator.h"
#include "serving/steady.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

enum class RankBy { gpus, cost, power };

/// What a plan must meet. Absent objectives are not checked.
struct Objectives {
    std::optional<Seconds> ttft;
    std::optional<Seconds> itl;
    std::optional<Seconds> tpot;
    std::optional<Seconds> e2e;
    double percentile = 0.99;
    double margin = 0.9;  ///< share of the sustainable rate that a replica may be loaded to
    int max_gpus = 4096;
    RankBy rank = RankBy::gpus;
    int spare = 0;  ///< replicas (of each pool) that may fail
};

/// A device that may be bought.
struct Offer {
    Hardware hardware;
    std::optional<DollarRate> price;  ///< of one GPU
};

/// The model in one precision that is allowed.
struct Variant {
    std::string weights, kv;  ///< as printed
    Model model;
    bool quantized = false;  ///< its weights are not as the model's config has them: the engine quantizes
};

/// Replicas of one deployment on one device.
struct Group {
    std::size_t offer = 0;
    Deployment deployment;
    std::int64_t budget = 0;    ///< tokens of a step at most (max_num_batched_tokens)
    std::int64_t replicas = 0;  ///< without spares
    SteadyState state;          ///< of one replica
    Frequency sustainable;      ///< of one replica
};

/// One way to serve the load: replicas that do both, or a prefill and a decode pool.
struct Candidate {
    std::size_t variant = 0;
    Group decode;                  ///< or co-located
    std::optional<Group> prefill;  ///< set: pools
    std::int64_t gpus = 0;         ///< spares included
    std::optional<DollarRate> cost;
    std::optional<Watts> power;
    bool fits = true;
    bool pruned = false;    ///< its floor misses an objective: not looked at any further
    double floor_over = 0;  ///< when pruned: the floor over the objective that it misses most
    bool meets = false;
    std::string why_not;  ///< "" when it meets every objective
    Bytes needs;          ///< per GPU, when it does not fit
    Seconds ttft_mean, ttft_tail, itl_mean, itl_tail, tpot_tail, e2e_tail;
    double utilisation = 0;  ///< load over what it sustains, of the pool that is nearer its limit
};

/// The winner, run request by request.
struct Verification {
    SimulationResult result;
    Seconds ttft, itl, tpot, e2e;  ///< at the percentile
    std::int64_t every = 1;        ///< one in so many requests was run, on that share of the replicas
    bool meets = false;
    double worst = 0;     ///< largest ratio of what was measured to its objective; 2 when saturated
    int simulations = 0;  ///< candidates that were run until one met
};

/// Throughput against latency: no other point is better in both.
struct FrontierPoint {
    Group group;
    double utilisation = 0;
    double tokens_per_s_per_gpu = 0;
    Seconds itl_tail, ttft_tail;
};

/// What doubling one resource would buy the chosen plan.
struct Relief {
    std::string resource;
    std::string change;
    double throughput_gain = 1;  ///< sustainable rate over today's
};

/// What the search looked at. A candidate is a role of a deployment on a device in a precision under a token
/// budget; those that are not listed here by a reason were evaluated in full.
struct SearchCounts {
    std::int64_t considered = 0;
    std::int64_t unfit = 0;      ///< the weights and one sequence do not fit
    std::int64_t pruned = 0;     ///< the floor of a step misses an objective
    std::int64_t pairs = 0;      ///< of prefill and decode pools that were put together
    std::int64_t simulated = 0;  ///< run request by request
};

enum class Verdict { ok, saturated, infeasible };
std::string to_string(Verdict verdict);

/// The nearest objectives that can be met: all relaxed by one factor. `objective` is the one that asks for
/// it.
struct Nearest {
    std::string objective;  ///< "TTFT", "ITL", ...
    Seconds wanted, reached;
    std::int64_t gpus = 0;  ///< that meet all once they are relaxed; 0: more than are allowed
};

struct Plan {
    Verdict verdict = Verdict::infeasible;
    std::optional<std::size_t> best;    ///< index into candidates
    std::vector<Candidate> candidates;  ///< best first; of several token budgets the best one
    SearchCounts counts;
    std::optional<Verification> verification;
    std::vector<FrontierPoint> frontier;
    std::vector<Relief> relief;
    std::optional<Nearest> nearest;
    std::string note;  ///< what to know of the answer, or ""
    std::string
        reason;  ///< when there is none: which objective is missed by how much, and the nearest change
};

struct PlanInputs {
    std::vector<Variant> variants;
    std::vector<Offer> offers;
    Engine engine;
    Load load;                            ///< the whole rate
    std::vector<Deployment> deployments;  ///< to try; empty: all sensible ones
    bool together = true;                 ///< replicas that do both
    bool pools = false;                   ///< prefill and decode pools
    std::vector<std::int64_t> budgets;    ///< tokens of a step to try; empty: the engine's own
    std::optional<Bandwidth> link;        ///< between pools, per GPU; absent: the devices' own
    std::function<void(std::size_t, std::size_t)> progress;  ///< candidates done, of all; may be empty
    /// The requests from the start, arrivals `scale` times faster than the load wants; empty: no
    /// verification.
    std::function<RequestSource()> requests;
    double scale = 1;
};

Plan plan(const PlanInputs& inputs, const Objectives& objectives);

/// Tensor parallel by powers of two within the scale-up domain, pipeline stages where one domain is too
/// small, data-parallel attention with expert parallelism for mixtures.
std::vector<Deployment> sensible_deployments(const Model& model, const Hardware& hardware);

/// Token budgets worth trying: less than the engine's own only makes gaps shorter, so without an objective on
/// them there is nothing to search, and without chunked prefill a budget does not cut prompts.
std::vector<std::int64_t> sensible_budgets(const Engine& engine, const Objectives& objectives);

/// The engine as a group runs it.
Engine engine_of(const PlanInputs& inputs, const Group& group);

/// The parts of the search, each in a file of its name.

/// One combination to look at.
struct Point {
    std::size_t variant = 0, offer = 0;
    Deployment deployment;
    std::int64_t budget = 0;
};

/// Replicas that do both, or one pool of two: the fewest that carry the load within the objectives that the
/// role answers for. Nothing is computed beyond its floor when that misses; where even the fewest possible
/// replicas would cost more than `enough` GPUs, the objectives are not searched for.
Candidate evaluate(const PlanInputs& inputs, const Objectives& objectives, const Point& point, PoolRole role,
                   std::int64_t enough);

/// The best pairs of prefill and decode pools out of groups that were evaluated for their roles; `pairs` is
/// how many were looked at.
std::vector<Candidate> pair_pools(const PlanInputs& inputs, const Objectives& objectives,
                                  const std::vector<Candidate>& prefill, const std::vector<Candidate>& decode,
                                  std::int64_t& pairs);

/// Another number of replicas that do both, with their state and the totals.
void set_replicas(Candidate& candidate, const PlanInputs& inputs, const Objectives& objectives,
                  std::int64_t replicas);

/// Fills in GPUs, cost and power from the groups.
void set_totals(Candidate& candidate, const PlanInputs& inputs, const Objectives& objectives);

/// "" or the objective that the candidate's estimates miss.
std::string missed(const Candidate& candidate, const Objectives& objectives);

bool better(const Candidate& a, const Candidate& b, const Objectives& objectives);

/// What candidates are ranked by: lower is better.
double rank_value(const Candidate& candidate, const Objectives& objectives);

/// Runs a candidate request by request.
Verification verify(const PlanInputs& inputs, const Objectives& objectives, const Candidate& candidate);

/// Why a plan has no best candidate: which objective is missed and by how much, or which memory is too small,
/// and the nearest change that would do.
std::string reason_of(const Plan& plan, const PlanInputs& inputs, const Objectives& objectives);

std::vector<FrontierPoint> frontier(const PlanInputs& inputs, const Candidate& best);

}  // namespace headroom
