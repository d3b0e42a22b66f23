// SPDX-License-Identifier: Apache-2.0
#include "spec/workload_fit.h"

#include "spec/generate.h"
#include "spec/length_counts.h"
#include "spec/prefix_cache.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr double kLogNormalDistance = 0.02;
constexpr std::size_t kCurvePoints = 48;

// Arrivals per window in a bounded number of windows: when they run out, neighbours are joined.
class RateCurve {
  public:
    void add(Seconds arrival) {
        while (arrival >= static_cast<double>(kMost) * window_) join();
        const auto at = static_cast<std::size_t>(arrival / window_);
        if (at >= counts_.size()) counts_.resize(at + 1);
        counts_[at] += 1;
    }
    // Rates at the middle of each of about `kCurvePoints` windows. A curve starts at time 0.
    CurveArrivals curve(Seconds duration) const {
        CurveArrivals curve;
        curve.period = duration;
        const std::size_t per = (counts_.size() + kCurvePoints - 1) / kCurvePoints;
        for (std::size_t i = 0; i < counts_.size(); i += per) {
            const Seconds from = static_cast<double>(i) * window_;
            const Seconds to = min(duration, static_cast<double>(i + per) * window_);
            if (to - from < 0.5 * static_cast<double>(per) * window_) break;  // the last, cut short
            double n = 0;
            for (std::size_t j = i; j < std::min(i + per, counts_.size()); ++j) n += counts_[j];
            const Seconds middle = i == 0 ? Seconds{} : (from + to) / 2;
            curve.points.emplace_back(middle, n / (to - from));
        }
        return curve;
    }

  private:
    static constexpr std::size_t kMost = 1024;
    void join() {
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            if (i % 2 == 0)
                counts_[i / 2] = counts_[i];
            else
                counts_[i / 2] += counts_[i];
        }
        counts_.resize((counts_.size() + 1) / 2);
        window_ *= 2;
    }
    Seconds window_{1};
    std::vector<double> counts_;
};

// What the hashes and the conversation numbers tell about shared prompts.
struct Sharing {
    std::unordered_set<std::uint64_t> seen;
    std::unordered_map<std::uint64_t, std::int64_t> heads;  // how often a prompt starts with a block
    std::unordered_set<std::int64_t> sessions;
    LengthCounts fresh;  // tokens of a prompt that were not found
    std::int64_t with_hashes = 0, with_session = 0, continued = 0, block = 0;

    void add(const Request& r) {
        if (r.session >= 0) ++with_session, sessions.insert(r.session);
        if (r.prefix.empty()) return;
        ++with_hashes;
        block = r.prefix_block;
        ++heads[r.prefix.front()];
        std::size_t found = 0;
        while (found < r.prefix.size() && seen.count(r.prefix[found]) > 0) ++found;
        seen.insert(r.prefix.begin(), r.prefix.end());
        // The first block alone is the system prompt more often than a conversation.
        if (found > 1) ++continued;
        fresh.add(std::max<std::int64_t>(1, r.input_tokens - static_cast<std::int64_t>(found) * block));
    }
};

// Largest difference between the distribution functions of counts and of a description.
double distance(const LengthCounts& counts, const PlainLength& length) {
    double most = 0;
    for (int i = 1; i < 200; ++i) {
        const double share = i / 200.0;
        most = std::max(most, std::abs(counts.share_up_to(quantile(length, share)) - share));
    }
    return most;
}

PlainLength fit_length(const LengthCounts& counts, const char* what, std::vector<std::string>& choices) {
    LogNormalLength normal;
    normal.p50 = std::max(1.0, counts.percentile(0.5));
    normal.p99 = std::max(normal.p50, counts.percentile(0.99));
    normal.most = std::max<std::int64_t>(1, static_cast<std::int64_t>(counts.percentile(1)));
    const double off = distance(counts, normal);
    if (off <= kLogNormalDistance) {
        choices.push_back(fmt::format("{}: log-normal, off by {:.1f} % at most", what, 100 * off));
        return normal;
    }
    QuantileLength points;
    std::vector<double> shares{0, 0.01, 0.02};
    for (int i = 1; i < 20; ++i) shares.push_back(i / 20.0);
    shares.insert(shares.end(), {0.98, 0.99, 0.995, 0.999, 1});
    for (const double share : shares) {
        points.points.emplace_back(share, std::max(1.0, std::round(counts.percentile(share))));
    }
    choices.push_back(
        fmt::format("{}: quantiles, since a log-normal would be off by {:.1f} %", what, 100 * off));
    return points;
}

// For a renewal process the index of dispersion over long windows is the gaps' CV squared; where it keeps on
// growing with the window, the rate itself moves.
Arrivals fit_arrivals(const WorkloadSummary& w, const RateCurve& rates, std::vector<std::string>& choices) {
    const auto& by_window = w.dispersion;
    if (by_window.empty()) {
        choices.emplace_back("arrivals: Poisson, since there are too few to tell more");
        return PoissonArrivals{max(w.rate, Frequency(1e-9))};
    }
    double cv2 = w.interarrival_cv * w.interarrival_cv;
    if (w.tick) {
        // Gaps are the recorder's; the shortest window of many ticks shows the traffic.
        const auto calm = std::find_if(by_window.begin(), by_window.end(),
                                       [&](const Dispersion& d) { return d.window >= 3 * *w.tick; });
        cv2 = calm == by_window.end() ? 1 : calm->index;
    }
    const double slow = by_window.back().index;
    if (slow > 3 * std::max(1.0, cv2)) {
        choices.push_back(
            fmt::format("arrivals: a rate curve, since the dispersion grows to {:.1f} at {:.0f} s", slow,
                        by_window.back().window.base()));
        return rates.curve(w.duration);
    }
    if (std::abs(cv2 - 1) < 0.25) {
        choices.push_back(fmt::format("arrivals: Poisson, CV {:.2f}", std::sqrt(cv2)));
        return PoissonArrivals{w.rate};
    }
    choices.push_back(fmt::format("arrivals: gamma, CV {:.2f}", std::sqrt(cv2)));
    return GammaArrivals{w.rate, std::sqrt(std::max(cv2, 1e-4))};
}

void fit_sharing(const Sharing& sharing, double requests, Workload& w, std::vector<std::string>& choices) {
    if (sharing.with_hashes == 0) return;
    w.prefix_block = static_cast<int>(sharing.block);
    const auto top = std::max_element(sharing.heads.begin(), sharing.heads.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto hashed = static_cast<double>(sharing.with_hashes);
    if (static_cast<double>(top->second) > 0.5 * hashed) {
        w.system = {1, FixedLength{sharing.block}, 0};
        choices.push_back(fmt::format("system prompt: {:.0f} % of prompts begin with the same block",
                                      100 * static_cast<double>(top->second) / hashed));
    }
    const bool known = static_cast<double>(sharing.with_session) > 0.5 * requests;
    const double starts = known ? static_cast<double>(sharing.sessions.size())
                                : hashed - static_cast<double>(sharing.continued);
    w.turns.mean =
        std::max(1.0, (known ? static_cast<double>(sharing.with_session) : hashed) / std::max(1.0, starts));
    w.turns.gap = Seconds(60);
    choices.push_back(
        fmt::format("turns: {:.2f} per conversation, from {}; the time between them is not in the "
                    "trace's hashes and is taken as 60 s",
                    w.turns.mean, known ? "the conversation numbers" : "prompts found in part"));
}

}  // namespace

WorkloadFit fit(const RequestSource& source, const std::string& name, const SummaryOptions& options) {
    SummaryBuilder observed(options);
    LengthCounts input, output;
    RateCurve rates;
    Sharing sharing;
    Request request;
    while (source(request)) {
        observed.add(request);
        input.add(request.input_tokens);
        output.add(request.output_tokens);
        rates.add(request.arrival);
        sharing.add(request);
    }
    WorkloadFit result;
    result.observed = observed.finish();
    if (result.observed.requests == 0) return result;
    Workload& w = result.workload;
    w.name = name;
    w.title = "Fitted to " + name;
    w.sources = {{"trace", SourceKind::measured, name, "", ""}};
    w.arrivals = fit_arrivals(result.observed, rates, result.choices);
    fit_sharing(sharing, static_cast<double>(result.observed.requests), w, result.choices);
    const bool shared = shares_prefixes(w);
    const PlainLength in =
        fit_length(shared ? sharing.fresh : input, shared ? "new input" : "input", result.choices);
    const PlainLength out = fit_length(output, "output", result.choices);
    w.input = std::visit([](auto l) -> Length { return l; }, in);
    w.output = std::visit([](auto l) -> Length { return l; }, out);
    w.turns.max_context =
        static_cast<std::int64_t>(result.observed.input_tokens.max + result.observed.output_tokens.max);
    w.samples = std::max(1, static_cast<int>(std::lround(result.observed.mean_samples)));
    w.requests = result.observed.requests;
    result.input_distance = distance(shared ? sharing.fresh : input, in);
    result.output_distance = distance(output, out);
    result.fitted = summarise(generate(w), options);
    return result;
}

}  // namespace headroom
