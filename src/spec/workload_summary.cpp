// SPDX-License-Identifier: Apache-2.0
#include "spec/workload_summary.h"

#include "spec/length_counts.h"
#include "spec/prefix_cache.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace headroom {
namespace {

// Mean and variance as values pass (Welford).
struct Moments {
    double n = 0, mean = 0, squares = 0;
    void add(double x) {
        n += 1;
        const double before = x - mean;
        mean += before / n;
        squares += before * (x - mean);
    }
    double variance() const { return n > 0 ? squares / n : 0; }
};

// Arrivals in consecutive windows of one length; the last, unfinished window is left out.
struct WindowCounts {
    Seconds window;
    std::int64_t current = 0;
    double inside = 0, sum = 0, squares = 0;

    void add(Seconds arrival) {
        const auto at = static_cast<std::int64_t>(std::floor(arrival / window));
        if (at > current) {
            sum += inside;
            squares += inside * inside;
            inside = 0;
            current = at;  // windows skipped over were empty
        }
        inside += 1;
    }
    Dispersion dispersion() const {
        Dispersion d{window, 0, current};
        if (current == 0 || sum == 0) return d;
        const double mean = sum / static_cast<double>(current);
        d.index = (squares / static_cast<double>(current) - mean * mean) / mean;
        return d;
    }
};

constexpr std::size_t kGapsKept = 8192;
constexpr std::int64_t kFewestWindows = 20;

// The step of which nearly all gaps between different arrival times are multiples, or nothing. Gaps that
// come from a clock step repeat; those of real traffic hit a multiple only by chance (1 % of the time).
std::optional<Seconds> clock_step(std::vector<double> gaps, double requests, double distinct) {
    constexpr double kNear = 0.005, kMost = 0.95;
    if (gaps.size() < 20) return std::nullopt;
    std::sort(gaps.begin(), gaps.end());
    std::optional<Seconds> step;
    for (const double share : {0.0, 0.01, 0.05}) {
        const double candidate = gaps[static_cast<std::size_t>(share * static_cast<double>(gaps.size() - 1))];
        std::vector<double> steps;
        double near = 0, judged = 0;
        for (const double gap : gaps) {
            const double times = std::max(1.0, std::round(gap / candidate));
            if (kNear * times > 0.25) continue;  // so many steps are near a multiple whatever the gap is
            judged += 1;
            near += std::abs(gap / candidate - times) <= kNear * times ? 1 : 0;
            steps.push_back(gap / times);
        }
        if (judged < 20 || near < kMost * judged) continue;
        std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2),
                         steps.end());
        step = Seconds(steps[steps.size() / 2]);
    }
    // Without ties the step is the traffic's own, such as one request every second.
    return step && requests > 1.2 * distinct ? step : std::nullopt;
}

}  // namespace

struct SummaryBuilder::State {
    SummaryOptions options;
    LengthCounts input, output;
    Moments gaps, samples;
    Seconds last;
    std::vector<WindowCounts> windows;
    std::vector<double> distinct_gaps;
    double distinct_times = 1;
    double token_time = 0, sequence_time = 0;  // per second of token gap
    double inputs = 0, outputs = 0, products = 0;
    int prefix_block = 0;
    bool any_prefix = false;
    PrefixCacheCount unlimited{0};
    std::vector<PrefixCacheCount> limited;

    explicit State(const SummaryOptions& given) : options(given) {
        for (const double window : {1.0, 10.0, 60.0, 600.0, 3600.0}) windows.push_back({Seconds(window)});
        for (const std::int64_t blocks : options.cache_blocks) limited.emplace_back(blocks);
    }

    void add_arrival(Seconds arrival) {
        if (input.total() > 0) {
            const Seconds gap = arrival - last;
            gaps.add(gap.base());
            if (gap > Seconds{}) {
                distinct_times += 1;
                if (distinct_gaps.size() < kGapsKept) distinct_gaps.push_back(gap.base());
            }
        }
        last = arrival;
        for (WindowCounts& w : windows) w.add(arrival);
    }
};

SummaryBuilder::SummaryBuilder(const SummaryOptions& options) : state_(std::make_unique<State>(options)) {}
SummaryBuilder::~SummaryBuilder() = default;
SummaryBuilder::SummaryBuilder(SummaryBuilder&&) noexcept = default;

void SummaryBuilder::add(const Request& request) {
    State& s = *state_;
    s.add_arrival(request.arrival);
    s.input.add(request.input_tokens);
    s.output.add(request.output_tokens);
    const auto in = static_cast<double>(request.input_tokens);
    const auto out = static_cast<double>(request.output_tokens);
    s.inputs += in;
    s.outputs += out;
    s.products += in * out;
    s.samples.add(request.samples);
    // A sequence holds input + j tokens while its j-th output token is made, j = 1 .. out.
    s.token_time += request.samples * (in * out + out * (out + 1) / 2);
    s.sequence_time += request.samples * out;
    if (request.prefix.empty()) return;
    s.any_prefix = true;
    s.prefix_block = request.prefix_block;
    s.unlimited.add(request);
    for (PrefixCacheCount& cache : s.limited) cache.add(request);
}

WorkloadSummary SummaryBuilder::finish() const {
    const State& s = *state_;
    WorkloadSummary w;
    w.requests = s.input.total();
    w.token_gap = s.options.token_gap;
    if (w.requests == 0) return w;
    const auto n = static_cast<double>(w.requests);
    w.duration = s.last;
    if (s.last > Seconds{}) w.rate = n / s.last;
    w.input_tokens = s.input.summary();
    w.output_tokens = s.output.summary();
    const double spread = w.input_tokens.deviation * w.output_tokens.deviation;
    if (spread > 0) w.length_correlation = (s.products / n - s.inputs / n * s.outputs / n) / spread;
    if (s.gaps.mean > 0) w.interarrival_cv = std::sqrt(s.gaps.variance()) / s.gaps.mean;
    for (const WindowCounts& counts : s.windows) {
        if (counts.current >= kFewestWindows) w.dispersion.push_back(counts.dispersion());
    }
    w.live_tokens = w.rate * w.token_gap * (s.token_time / n);
    w.live_sequences = w.rate * w.token_gap * (s.sequence_time / n);
    w.mean_samples = s.samples.mean;
    w.tick = clock_step(s.distinct_gaps, n, s.distinct_times);
    if (w.tick && w.tick->base() > 0.5 * s.gaps.mean) {
        w.notes.push_back(fmt::format(
            "arrivals come in steps of about {:.3g} s, {:.1f} requests at once: the recorder's clock; bursts "
            "shorter than some steps are not the traffic's",
            w.tick->base(), n / s.distinct_times));
    }
    if (s.any_prefix) {
        PrefixSummary p;
        p.block_tokens = s.prefix_block;
        p.blocks = s.unlimited.blocks();
        p.distinct_blocks = s.unlimited.held();
        p.unlimited = s.unlimited.hits();
        for (const PrefixCacheCount& cache : s.limited) p.limited.push_back(cache.hits());
        w.prefix = p;
    }
    return w;
}

WorkloadSummary summarise(const RequestSource& source, const SummaryOptions& options) {
    SummaryBuilder builder(options);
    Request request;
    for (std::int64_t n = 0; (options.max_requests == 0 || n < options.max_requests) && source(request);
         ++n) {
        builder.add(request);
    }
    return builder.finish();
}

}  // namespace headroom
