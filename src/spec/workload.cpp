// SPDX-License-Identifier: Apache-2.0
#include "spec/workload.h"

#include "base/overload.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

// Rational approximation of the standard normal's inverse (Abramowitz and Stegun 26.2.23 refined by one
// Newton step on erfc, which makes it exact to double precision's noise).
double normal_quantile(double share) {
    const double tail = std::clamp(std::min(share, 1 - share), 1e-12, 0.5);
    const double t = std::sqrt(-2 * std::log(tail));
    double z = t - (2.515517 + 0.802853 * t + 0.010328 * t * t) /
                       (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
    for (int step = 0; step < 2; ++step) {
        const double density = std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979323846);
        z += (std::erfc(z / std::sqrt(2.0)) / 2 - tail) / density;
    }
    return share < 0.5 ? -z : z;
}

double interpolate(const std::vector<std::pair<double, double>>& points, double share) {
    const auto above = std::upper_bound(points.begin(), points.end(), share,
                                        [](double s, const auto& point) { return s < point.first; });
    if (above == points.begin()) return points.front().second;
    if (above == points.end()) return points.back().second;
    const auto& [s0, t0] = *(above - 1);
    const auto& [s1, t1] = *above;
    const double part = s1 > s0 ? (share - s0) / (s1 - s0) : 0;
    return std::exp(std::log(t0) + part * (std::log(t1) - std::log(t0)));
}

}  // namespace

double quantile(const PlainLength& length, double share) {
    return std::visit(Overload{
                          [](const FixedLength& l) { return static_cast<double>(l.tokens); },
                          [&](const LogNormalLength& l) {
                              const double sigma = std::log(l.p99 / l.p50) / normal_quantile(0.99);
                              return std::clamp(std::exp(std::log(l.p50) + sigma * normal_quantile(share)),
                                                static_cast<double>(l.least), static_cast<double>(l.most));
                          },
                          [&](const QuantileLength& l) { return interpolate(l.points, share); },
                      },
                      length);
}

Frequency mean_rate(const Arrivals& arrivals) {
    return std::visit(
        Overload{
            [](const PoissonArrivals& a) { return a.rate; },
            [](const GammaArrivals& a) { return a.rate; },
            [](const BurstArrivals& a) {
                return (a.on_rate * a.mean_on + a.off_rate * a.mean_off) / (a.mean_on + a.mean_off);
            },
            [](const CurveArrivals& a) {
                double sum = 0;
                for (std::size_t i = 0; i < a.points.size(); ++i) {
                    const bool last = i + 1 == a.points.size();
                    const Seconds until = last ? a.period : a.points[i + 1].first;
                    const Frequency next = last ? a.points.front().second : a.points[i + 1].second;
                    sum += (until - a.points[i].first) * (a.points[i].second + next) / 2;
                }
                return sum / a.period;
            },
        },
        arrivals);
}

Arrivals with_rate(const Arrivals& arrivals, Frequency rate) {
    const double factor = rate / mean_rate(arrivals);
    return std::visit(Overload{
                          [&](PoissonArrivals a) -> Arrivals { return a.rate *= factor, a; },
                          [&](GammaArrivals a) -> Arrivals { return a.rate *= factor, a; },
                          [&](BurstArrivals a) -> Arrivals {
                              a.on_rate *= factor;
                              a.off_rate *= factor;
                              return a;
                          },
                          [&](CurveArrivals a) -> Arrivals {
                              for (auto& point : a.points) point.second *= factor;
                              return a;
                          },
                      },
                      arrivals);
}

bool shares_prefixes(const Workload& w) {
    const auto* fixed = std::get_if<FixedLength>(&w.system.tokens);
    return w.turns.mean > 1 || fixed == nullptr || fixed->tokens > 0;
}

}  // namespace headroom
