// SPDX-License-Identifier: Apache-2.0
#include "validate/fit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include <Eigen/Core>
#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>

namespace headroom {
namespace {

/// Eigen's difference step is a share of the variable: keep the free variable away from zero.
constexpr double shift = 10;

double to_free(double value, const FitParameter& p) {
    const double share = std::clamp((value - p.low) / (p.high - p.low), 1e-3, 1 - 1e-3);
    return std::log(share / (1 - share)) + shift;
}

double to_bounded(double free, const FitParameter& p) {
    return p.low + (p.high - p.low) / (1 + std::exp(shift - free));
}

/// r scaled so that its square is the soft-L1 loss 2 (sqrt(1 + (r/s)^2) - 1).
double robust(double residual, double scale) {
    const double r = residual / scale;
    return std::copysign(std::sqrt(2 * (std::sqrt(1 + r * r) - 1)), r);
}

struct Problem {
    using Scalar = double;
    using InputType = Eigen::VectorXd;
    using ValueType = Eigen::VectorXd;
    using JacobianType = Eigen::MatrixXd;
    enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

    std::span<const FitParameter> parameters;
    int observations;
    const Residuals* residuals;
    double scale;

    int inputs() const { return static_cast<int>(parameters.size()); }
    int values() const { return observations; }

    int operator()(const Eigen::VectorXd& free, Eigen::VectorXd& out) const {
        std::vector<double> values(parameters.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = to_bounded(free[static_cast<Eigen::Index>(i)], parameters[i]);
        }
        (*residuals)(values, {out.data(), static_cast<std::size_t>(out.size())});
        for (double& r : out) {
            r = robust(r, scale);
        }
        return 0;
    }
};

double quantile(const std::vector<double>& sorted, double q) {
    const double at = q * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

std::vector<double> fit(std::span<const FitParameter> parameters, int observations,
                        const Residuals& residuals, const FitOptions& options) {
    constexpr double step = 1e-3;
    const Problem problem{parameters, observations, &residuals, options.robust_scale};
    Eigen::NumericalDiff<Problem> differenced(problem, step * step);
    Eigen::LevenbergMarquardt<Eigen::NumericalDiff<Problem>> solver(differenced);
    solver.parameters.maxfev = options.max_evaluations;
    solver.parameters.ftol = 1e-6;
    solver.parameters.xtol = 1e-6;
    Eigen::VectorXd free(static_cast<Eigen::Index>(parameters.size()));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        free[static_cast<Eigen::Index>(i)] = to_free(parameters[i].start, parameters[i]);
    }
    solver.minimize(free);
    std::vector<double> values(parameters.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = to_bounded(free[static_cast<Eigen::Index>(i)], parameters[i]);
    }
    return values;
}

ErrorSummary summarise(std::vector<double> errors) {
    ErrorSummary s;
    s.rows = static_cast<int>(errors.size());
    if (errors.empty()) {
        return s;
    }
    std::sort(errors.begin(), errors.end());
    s.bias = quantile(errors, 0.5);
    for (double& e : errors) {
        e = std::abs(e);
    }
    std::sort(errors.begin(), errors.end());
    s.mean_abs = std::accumulate(errors.begin(), errors.end(), 0.0) / s.rows;
    s.median_abs = quantile(errors, 0.5);
    s.p90_abs = quantile(errors, 0.9);
    s.p95_abs = quantile(errors, 0.95);
    return s;
}

double quantile_of(std::vector<double> values, double q) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return quantile(values, q);
}

std::vector<bool> random_half(int count, unsigned seed) {
    std::vector<std::pair<std::uint64_t, int>> order(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        // splitmix64: a fixed generator, where the standard library's shuffle differs between vendors.
        std::uint64_t z = (static_cast<std::uint64_t>(seed) << 32U) + static_cast<std::uint64_t>(i) + 1;
        z *= 0x9E3779B97F4A7C15U;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
        order[static_cast<std::size_t>(i)] = {z ^ (z >> 31U), i};
    }
    std::sort(order.begin(), order.end());
    std::vector<bool> train(order.size(), false);
    for (std::size_t i = 0; i < order.size() / 2; ++i) {
        train[static_cast<std::size_t>(order[i].second)] = true;
    }
    return train;
}

}  // namespace headroom
