// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/timing.h"
#include "measure/case.h"
#include "measure/environment.h"
#include "measure/runner.h"
#include "measure/suites.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

// What `calibrate` and `validate` call. Everything throws DeviceError; device_available() says whether to
// try.

namespace headroom::kernels {

// Called before each step with what comes next and the share done so far (0..1).
using Progress = std::function<void(const std::string& step, double done)>;

struct SizedRate {
    std::size_t bytes = 0;  // moved by one launch: a copy reads and writes half of it each
    Timing timing;
    double bytes_per_s() const { return static_cast<double>(bytes) / timing.median_s; }
};

struct MatrixRate {
    DType dtype = DType::kBf16;
    Timing product;  // 8192^3 by cuBLASLt
    double product_flop_per_s = 0;
    std::optional<double> mma_flop_per_s;  // mma.sync from registers: the ceiling of portable fused kernels
};

struct Ceilings {
    Environment environment;
    std::vector<SizedRate> read, write, copy;  // cold, by rising size
    SizedRate l2_read;
    SizedRate shared_read;  // all multiprocessors together
    std::vector<MatrixRate> matrix;
    double launch_alone_s = 0;      // host: launch an empty kernel and wait for it
    double launch_in_stream_s = 0;  // from one empty kernel to the next, launched by the host
    double launch_in_graph_s = 0;
    double dependent_in_graph_s = 0;  // the same for a kernel that reads and writes one word
};

// Under a minute. Uses as much device memory as the pool plus 4 GB.
Ceilings measure_ceilings(DataPool& pool, const Progress& progress = {});

struct CaseResult {
    Case shape;
    std::string suite;  // the list that it was measured with; filled in by who knows it
    Timing timing;
    double sample_error = 0;  // of the output against the CPU where the operator offers a check
};

// One launch inside a graph of many, operands cold in L2.
CaseResult measure_case(const Case& c, DataPool& pool);

}  // namespace headroom::kernels
