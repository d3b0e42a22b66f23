// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headroom {

/// A number to fit: where to start and the bounds that it must respect (low < high).
struct FitParameter {
    std::string name;
    double start;
    double low;
    double high;
};

struct FitOptions {
    /// Errors (of the logarithm of a time) beyond this count linearly, so that outliers do not steer.
    double robust_scale = 0.05;
    int max_evaluations = 400;
};

/// Residuals for given parameter values, one per observation: ln(predicted / measured).
using Residuals = std::function<void(std::span<const double> values, std::span<double> out)>;

/// Levenberg-Marquardt (Eigen) on the soft-L1 loss; bounds by a logistic change of variable. Residuals that
/// are not smooth (a best of several tiles) are differenced with a step of 1e-3.
std::vector<double> fit(std::span<const FitParameter> parameters, int observations,
                        const Residuals& residuals, const FitOptions& options = {});

/// Errors predicted/measured - 1 of a set of rows.
struct ErrorSummary {
    int rows = 0;
    double mean_abs = 0;
    double median_abs = 0;
    double p90_abs = 0;
    double p95_abs = 0;
    double bias = 0;  ///< median signed error
};

ErrorSummary summarise(std::vector<double> errors);

/// A reproducible half of `count` indices (the same on every machine): true for the half to train on.
std::vector<bool> random_half(int count, unsigned seed);

}  // namespace headroom
