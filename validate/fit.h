// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/measured.h"

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

ErrorSummary summarise(std::vector<double> errors);

/// Quantile `q` of values, interpolated; 0 of none.
double quantile_of(std::vector<double> values, double q);

/// A reproducible half of `count` indices (the same on every machine): true for the half to train on.
std::vector<bool> random_half(int count, unsigned seed);

}  // namespace headroom
