// SPDX-License-Identifier: Apache-2.0
#include "memory/replay_average.h"

#include <cmath>

namespace headroom {

// The models are asked once for every 1 % of batch, context and prompt (at the middle of that range), since
// there are millions of steps.
double ReplayAverage::duration(const ReplayStep& step) {
    if (!costs_.step) return 1;
    const auto bin = [](double value) {
        return static_cast<std::int64_t>(std::lround(100 * std::log(value)));
    };
    const auto middle = [](std::int64_t of) { return std::exp(static_cast<double>(of) / 100); };
    const std::int64_t sequences = bin(static_cast<double>(step.sequences)),
                       live = bin(static_cast<double>(step.live));
    auto [decode, fresh] = step_time_.try_emplace(sequences * 65536 + live, 0);
    if (fresh) decode->second = costs_.step(middle(sequences), middle(live)).base();
    if (step.prefill < 1 || !costs_.prefill) return decode->second;
    const std::int64_t tokens = bin(step.prefill);
    auto [prefill, unknown] = prefill_time_.try_emplace(tokens, 0);
    if (unknown) prefill->second = costs_.prefill(middle(tokens)).base();
    return decode->second + prefill->second;
}

void ReplayAverage::add(const ReplayStep& step) {
    const double time = duration(step);
    const Usage& u = step.usage;
    region_ = u.region;
    const auto into = [&](Sums& sums) {
        sums.time += time;
        sums.output += static_cast<double>(step.sequences);
        sums.used += time * static_cast<double>(u.used);
        sums.internal += time * static_cast<double>(u.internal);
        sums.reservation += time * static_cast<double>(u.reservation);
        sums.external += time * static_cast<double>(u.external);
        sums.free += time * static_cast<double>(u.free);
        sums.cached += time * static_cast<double>(u.cached);
        sums.shared += time * static_cast<double>(u.shared);
        sums.sequences += time * static_cast<double>(step.sequences);
        sums.live += time * static_cast<double>(step.live);
    };
    into(all_);
    if (step.waits) {
        if (settled_at_ < 0) settled_at_ = step.completed + 2 * step.sequences;
        into(loaded_);
        if (step.completed >= settled_at_) into(settled_);
    }
    record(static_cast<double>(u.used) / static_cast<double>(u.region));
}

void ReplayAverage::record(double used) {
    stretch_sum_ += used;
    if (++in_stretch_ < stretch_) return;
    stretch_used_.push_back(stretch_sum_ / static_cast<double>(in_stretch_));
    stretch_sum_ = 0;
    in_stretch_ = 0;
    if (stretch_used_.size() < 2 * kStretches) return;
    for (std::size_t i = 0; i < kStretches; ++i) {
        stretch_used_[i] = (stretch_used_[2 * i] + stretch_used_[2 * i + 1]) / 2;
    }
    stretch_used_.resize(kStretches);
    stretch_ *= 2;
}

void ReplayAverage::fill(ReplayResult& r) const {
    r.loaded = loaded_.time > 0;
    const Sums& s = settled_.time > 0 ? settled_ : r.loaded ? loaded_ : all_;
    r.utilisation_over_time = stretch_used_;
    if (s.time <= 0 || region_ == 0) {
        r.free = 1;
        return;
    }
    const double whole = s.time * static_cast<double>(region_);
    r.utilisation = s.used / whole;
    r.internal_waste = s.internal / whole;
    r.reservation_waste = s.reservation / whole;
    r.external_waste = s.external / whole;
    r.free = s.free / whole;
    r.cached = s.cached / whole;
    r.shared_savings = s.live > 0 ? s.shared / s.live : 0;
    r.mean_sequences = s.sequences / s.time;
    r.mean_live_tokens = s.live / s.time;
    if (costs_.step) r.throughput = TokenRate(s.output / s.time);
}

}  // namespace headroom
