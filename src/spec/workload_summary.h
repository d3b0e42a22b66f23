// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/request.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// A length distribution. A percentile lies at (n - 1) p of the sorted values, between neighbours in
/// proportion (as NumPy's default).
struct LengthSummary {
    double mean = 0;
    double deviation = 0;  ///< standard deviation
    double p50 = 0, p90 = 0, p99 = 0, max = 0;
};

/// Variance over mean of the arrivals in windows of one length: 1 for Poisson, above for bursts.
struct Dispersion {
    Seconds window;
    double index = 0;
    std::int64_t windows = 0;  ///< whole windows that were seen
};

/// How much of the prompts a prefix cache would have found. Prompts are looked up in order of arrival and all
/// of a prompt's blocks enter the cache at once; only an unbroken run of blocks from the start counts.
struct PrefixHits {
    std::int64_t capacity_blocks = 0;  ///< least recently used leave; 0: no limit
    double block_rate = 0;             ///< blocks found over blocks
    double token_rate = 0;             ///< tokens found over tokens of all prompts
    double request_rate = 0;           ///< mean over requests of its own share of blocks found
};

struct PrefixSummary {
    int block_tokens = 0;
    std::int64_t blocks = 0;           ///< looked up
    std::int64_t distinct_blocks = 0;  ///< of them different
    PrefixHits unlimited;
    std::vector<PrefixHits> limited;
};

/// What `workloads show` prints of a stream of requests.
struct WorkloadSummary {
    std::int64_t requests = 0;
    Seconds duration;  ///< first arrival to last
    Frequency rate;    ///< requests over duration; 0 when all arrive at once
    LengthSummary input_tokens;
    LengthSummary output_tokens;
    double length_correlation = 0;  ///< Pearson's, of input with output
    double interarrival_cv = 0;     ///< standard deviation over mean of the gaps
    std::vector<Dispersion> dispersion;
    Seconds token_gap;       ///< the time per output token that `live_tokens` assumes
    double live_tokens = 0;  ///< Little's law: rate x token_gap x E[samples (input out + out (out + 1) / 2)]
    double live_sequences = 0;  ///< rate x token_gap x E[samples x output]
    double mean_samples = 1;
    std::optional<PrefixSummary> prefix;  ///< absent without hashes
    std::optional<Seconds> tick;          ///< the recorder's clock step, when arrivals are quantised by it
    std::int64_t rows_skipped = 0;
    std::vector<std::string> notes;
};

struct SummaryOptions {
    Seconds token_gap{0.05};
    std::vector<std::int64_t> cache_blocks{1000, 10000, 30000};  ///< limits of `PrefixSummary::limited`
    std::int64_t max_requests = 0;                               ///< stop after so many; 0: never
};

/// Statistics of requests as they pass. Lengths are counted exactly; memory grows with the longest length
/// and with the distinct prefix blocks, not with the requests.
class SummaryBuilder {
  public:
    explicit SummaryBuilder(const SummaryOptions& options);
    ~SummaryBuilder();
    SummaryBuilder(SummaryBuilder&&) noexcept;

    void add(const Request& request);
    WorkloadSummary finish() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

WorkloadSummary summarise(const RequestSource& source, const SummaryOptions& options = {});

}  // namespace headroom
