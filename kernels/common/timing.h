// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"

#include <functional>

namespace headroom::kernels {

struct Timing {
    double median_s = 0;
    double p10_s = 0;
    double p90_s = 0;
    int samples = 0;     // each is the mean of one graph's launches
    bool noisy = false;  // the spread had not settled when the time ran out

    double spread() const { return median_s > 0 ? (p90_s - p10_s) / median_s : 0; }
};

struct TimingOptions {
    double spread = 0.01;    // stop once (p90 - p10) / median of all samples is below this
    double limit_s = 0.25;   // or once this much has been measured
    double graph_s = 0.002;  // aim of one graph's length, so that event resolution does not matter
    int min_samples = 7;
    int max_launches = 64;  // per graph
    int rotation = 1;       // launches until the data repeat; a graph covers whole rotations if it can
};

// Enqueues one execution of the operator. `turn` counts launches, so that the callee can rotate among copies
// of its data and no launch finds its input in the L2 cache.
using Launch = std::function<void(Stream stream, int turn)>;

// Median over replays of a CUDA graph of consecutive launches, timed with events; host time is excluded and
// the launch gap is a graph's (about 1 us on an H200).
Timing time_graph(const Launch& launch, const TimingOptions& options = {});

// Copies of a working set needed so that reuse is evicted: at least four L2 sizes of other data in between.
int rotation_for(std::size_t bytes_per_launch);

}  // namespace headroom::kernels
