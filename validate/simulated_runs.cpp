// SPDX-License-Identifier: Apache-2.0
#include "validate/simulated_runs.h"

#include "serving/simulator.h"

#include <cmath>
#include <memory>

namespace headroom {
namespace {

constexpr double kSpread = 0.1;  // of output lengths, either way: equal ones would stay in step for ever

RequestSource alike(const ServingRun& run) {
    const auto made = std::make_shared<std::int64_t>(0);
    const auto most = std::llround(run.rounds.expected * run.concurrency);
    return [made, most, &run](Request& r) {
        if (*made >= most) return false;
        r = {};
        r.input_tokens = static_cast<std::int64_t>(run.input);
        // Evenly spread, without a pattern (golden ratio).
        const double turn = std::fmod(static_cast<double>(++*made) * 0.6180339887498949, 1.0);
        r.output_tokens = std::llround(run.output * (1 + kSpread * (2 * turn - 1)));
        return true;
    };
}

}  // namespace

std::vector<SimulatedRun> simulated_runs(const std::vector<ServingRun>& runs, const Profiles& profiles,
                                         int every) {
    ValidateAnswer told;
    add_serving(told, runs, "", profiles);
    std::vector<SimulatedRun> found;
    int counted = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const ServingRun& run = runs[i];
        const MeasuredCase& tpot = told.cases[2 * i];
        const MeasuredCase& ttft = told.cases[2 * i + 1];
        const bool counts = tpot.refused.empty() && tpot.not_counted.empty() && ttft.not_counted.empty();
        if (run.disaggregated || !counts || counted++ % every != 0) continue;
        Engine engine = served_engine(run, profiles.engine(profiles.engine_or(run.engine)));
        engine.time.per_request.expected += run.held_steps * tpot.predicted.expected.in(second);
        System system;
        system.pools.push_back({PoolRole::both,
                                shard(served_model(run, profiles.model(run.model)), run.deployment),
                                profiles.hardware(profiles.hardware_or(run.hardware)), std::move(engine), 1});
        const Playback closed{.concurrency = static_cast<std::int64_t>(run.concurrency)};
        const SimulationResult r = simulate(system, alike(run), closed);
        if (r.completed == 0) continue;
        SimulatedRun s{&run, Seconds(r.ttft.mean()), Seconds(r.tpot.mean()), ttft.predicted.expected,
                       tpot.predicted.expected};
        s.tokens_per_s = static_cast<double>(r.tokens_out) / r.duration;
        s.measured_tokens_per_s =
            run.concurrency * run.output / (run.ttft + (run.output - 1) * run.tpot).in(second);
        found.push_back(s);
    }
    return found;
}

}  // namespace headroom
