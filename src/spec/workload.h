// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"
#include "spec/source.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace headroom {

/// Always the same length.
struct FixedLength {
    std::int64_t tokens = 1;
};

/// Log-normal through two percentiles: exp(ln p50 + z ln(p99 / p50) / 2.326), cut to least..most.
struct LogNormalLength {
    double p50 = 1;
    double p99 = 1;
    std::int64_t least = 1;
    std::int64_t most = 1 << 20;
};

/// An inverse distribution function by points, shares rising from 0 to 1; between points the logarithm of
/// the length is linear.
struct QuantileLength {
    std::vector<std::pair<double, double>> points;  ///< share, tokens
};

using PlainLength = std::variant<FixedLength, LogNormalLength, QuantileLength>;

/// One of several distributions, drawn by weight.
struct MixtureLength {
    std::vector<std::pair<double, PlainLength>> parts;  ///< weight (any scale), distribution
};

using Length = std::variant<FixedLength, LogNormalLength, QuantileLength, MixtureLength>;

/// Independent arrivals.
struct PoissonArrivals {
    Frequency rate;
};

/// Gamma-distributed gaps of coefficient of variation `cv`: 1 is Poisson, above it arrivals cluster.
struct GammaArrivals {
    Frequency rate;
    double cv = 1;
};

/// Poisson at `on_rate` and `off_rate` in turn, for exponentially distributed times.
struct BurstArrivals {
    Frequency on_rate;
    Frequency off_rate;
    Seconds mean_on;
    Seconds mean_off;
};

/// Poisson whose rate goes linearly from point to point and starts again after `period`.
struct CurveArrivals {
    std::vector<std::pair<Seconds, Frequency>> points;  ///< times rising from 0
    Seconds period;
};

using Arrivals = std::variant<PoissonArrivals, GammaArrivals, BurstArrivals, CurveArrivals>;

/// Prompts that begin with one of a few fixed texts. Text k is chosen in proportion to 1 / k^skew.
struct SystemPrompts {
    int prompts = 1;
    Length tokens = FixedLength{0};
    double skew = 1;
};

/// Conversations: the prompt of a later turn is everything before it and its own input. The number of turns
/// is geometric; a turn follows the one before it after an exponential time, the answer included.
struct Turns {
    double mean = 1;
    Seconds gap;
    std::int64_t max_context = 1 << 17;  ///< a conversation that would grow beyond it ends
};

/// Traffic described rather than recorded. With system prompts or turns, `input` is what a request adds to
/// them; without, it is the whole prompt.
struct Workload {
    std::string name;
    std::string title;
    std::string file;  ///< where it was read from
    std::vector<Source> sources;
    Arrivals arrivals = PoissonArrivals{1 * hertz};  ///< of requests: later turns count
    Length input = FixedLength{1};
    Length output = FixedLength{1};
    SystemPrompts system;
    Turns turns;
    int samples = 1;
    bool beam = false;
    int prefix_block = 16;  ///< tokens for which one hash stands
    std::int64_t requests = 20000;
    std::uint64_t seed = 1;
};

/// Mean requests per time.
Frequency mean_rate(const Arrivals& arrivals);

/// The same arrivals at another mean rate: a curve keeps its shape, bursts keep their lengths.
Arrivals with_rate(const Arrivals& arrivals, Frequency rate);

/// The length below which `share` of the draws lie, before rounding to whole tokens. Not for mixtures.
double quantile(const PlainLength& length, double share);

/// Whether requests share prompts, so that hashes are generated.
bool shares_prefixes(const Workload& workload);

}  // namespace headroom
