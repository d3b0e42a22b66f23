// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "perf/operator_time.h"

#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// Errors predicted/measured - 1 of a set of rows.
struct ErrorSummary {
    int rows = 0;
    double mean_abs = 0;
    double median_abs = 0;
    double p90_abs = 0;
    double p95_abs = 0;
    double bias = 0;  ///< median signed error
};

/// A measured time beside its prediction.
struct MeasuredCase {
    std::string name;
    std::string group;
    std::string where;  ///< file:line
    TimeEstimate predicted;
    Seconds measured;
    double error = 0;         ///< predicted.expected / measured - 1
    std::string refused;      ///< why the measurement is not believed; "" where it is
    std::string not_counted;  ///< why the row is shown but in no summary; "" where it is
    double tokens = 0;        ///< that came out in that time, where the file gives a rate; else 0
    /// Bytes to and from memory, where the hardware's counters were read; else `measured_hbm` is absent.
    Bytes predicted_hbm;
    std::optional<Bytes> measured_hbm{};
};

/// Bytes between memory and L2 of one launch as the hardware counted them, beside those that a mapping
/// predicts.
struct TrafficCount {
    std::string name;
    std::string mapping;  ///< its name in mappings/
    std::string where;    ///< file: counter
    Bytes predicted_reads, predicted_writes;
    Bytes counted_reads, counted_writes;
    /// Counting went on until all that was written had left L2. Otherwise the last of it was still there, up
    /// to what L2 holds, and only reads can be compared.
    bool drained = false;
    double difference = 0;  ///< predicted / counted - 1, of what can be compared

    Bytes predicted() const { return drained ? predicted_reads + predicted_writes : predicted_reads; }
    Bytes counted() const { return drained ? counted_reads + counted_writes : counted_reads; }
};

/// A measured amount of memory beside its prediction; `unit` is bytes or tokens.
struct CapacityCase {
    std::string name;
    std::string group;
    std::string where;
    std::string unit;
    double predicted = 0;
    double measured = 0;
    double error = 0;
    std::string not_counted;
};

/// The cases of one group that were neither refused nor left out.
struct CaseSummary {
    std::string group;
    ErrorSummary errors;
    double inside_interval = 0;  ///< share of cases with low <= measured <= high
    double median_width = 0;     ///< median of high / expected
    int below_floor = 0;         ///< refused ones
    double worst = 0;            ///< largest absolute error, of capacities
};

struct ValidateAnswer {
    std::vector<std::string> files;
    std::vector<std::string> notes;  ///< files or rows that were left out, and why
    std::vector<MeasuredCase> cases;
    std::vector<CaseSummary> groups;
    CaseSummary overall;
    std::vector<TrafficCount> counters;
    std::vector<CapacityCase> capacities;
    std::vector<CaseSummary> capacity_groups;
};

/// One parameter of a fit.
struct FittedParameter {
    std::string name;
    std::string unit;
    double value = 0;  ///< base units
    double start = 0;
    /// Mean absolute error on unseen rows with this parameter 20 % too low or too high, the worse of the two.
    double error_when_off = 0;
    std::string meaning;
};

struct FittedGroup {
    std::string group;
    std::vector<FittedParameter> parameters;
    ErrorSummary train;
    ErrorSummary test;  ///< rows that the fit did not see
    double spread = 1;  ///< 90 % of the training rows lie within this factor
    /// Another device's rows under this fit, if one was given.
    ErrorSummary other;
    double other_spread = 1;
};

struct FitAnswer {
    std::string hardware;
    std::string other_hardware;  ///< "" when none was given
    int refused = 0;             ///< rows below the floor, not fitted
    std::vector<std::string> refused_names;
    double memory = 0;  ///< reachable share of the memory bandwidth
    std::vector<FittedGroup> groups;
    std::string yaml;  ///< the parts for the data files
};

struct EngineParameter {
    std::string name;
    double low = 0;  ///< seconds; the span of the fits that leave a model or a device out
    double expected = 0;
    double high = 0;
};

/// An engine's host times from served runs.
/// Errors of rows that a fit left out, predicted over measured less 1.
struct UnseenErrors {
    std::vector<double> tpot, ttft;
};

struct EngineFitAnswer {
    std::string engine;
    int rows = 0;
    std::vector<EngineParameter> parameters;
    double overlap = 1;
    ErrorSummary tpot, ttft;  ///< of the rows that were fitted
    ErrorSummary tpot_other_model, ttft_other_model;
    ErrorSummary tpot_other_device, ttft_other_device;
    UnseenErrors other_model, other_device;  ///< of those, one by one
    std::string yaml;                        ///< the `time:` part
};

}  // namespace headroom
