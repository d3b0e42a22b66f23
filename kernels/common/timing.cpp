// SPDX-License-Identifier: Apache-2.0
#include "common/timing.h"

#include "common/error.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <cuda_runtime.h>

namespace headroom::kernels {

namespace {

class Event {
  public:
    Event() { HEADROOM_CUDA(cudaEventCreate(&event_)); }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    operator cudaEvent_t() const { return event_; }

  private:
    cudaEvent_t event_ = nullptr;
};

class Graph {
  public:
    Graph(const Launch& launch, int launches, Stream stream) {
        HEADROOM_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        try {
            for (int turn = 0; turn < launches; ++turn) launch(stream, turn);
        } catch (...) {
            cudaStreamEndCapture(stream, &graph_);
            cudaGraphDestroy(graph_);
            throw;
        }
        HEADROOM_CUDA(cudaStreamEndCapture(stream, &graph_));
        HEADROOM_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
    }
    ~Graph() {
        cudaGraphExecDestroy(executable_);
        cudaGraphDestroy(graph_);
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    void replay(Stream stream) const { HEADROOM_CUDA(cudaGraphLaunch(executable_, stream)); }

  private:
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
};

double seconds_between(const Event& begin, const Event& end) {
    float milliseconds = 0;
    HEADROOM_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    return 1e-3 * static_cast<double>(milliseconds);
}

double quantile(std::vector<double> sorted, double q) {
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (position - std::floor(position)) * (sorted[above] - sorted[below]);
}

Timing summarise(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    Timing timing;
    timing.median_s = quantile(samples, 0.5);
    timing.p10_s = quantile(samples, 0.1);
    timing.p90_s = quantile(samples, 0.9);
    timing.samples = static_cast<int>(samples.size());
    return timing;
}

// A first, rough time: it also warms up and loads the kernel before capture.
double rough_time(const Launch& launch, Stream stream) {
    Event begin, end;
    launch(stream, 0);
    HEADROOM_CUDA(cudaEventRecord(begin, stream));
    launch(stream, 1);
    launch(stream, 2);
    HEADROOM_CUDA(cudaEventRecord(end, stream));
    HEADROOM_CUDA(cudaStreamSynchronize(stream));
    return seconds_between(begin, end) / 2;
}

int launches_per_graph(double once_s, const TimingOptions& options) {
    int launches = static_cast<int>(std::ceil(options.graph_s / std::max(once_s, 1e-7)));
    launches = std::clamp(launches, 1, options.max_launches);
    if (options.rotation > 1) {
        const int rotations = (launches + options.rotation - 1) / options.rotation;
        launches = rotations * options.rotation;
    }
    return launches;
}

}  // namespace

Timing time_graph(const Launch& launch, const TimingOptions& options) {
    const OwnedStream stream;
    const int launches = launches_per_graph(rough_time(launch, stream), options);
    const Graph graph(launch, launches, stream);
    Event begin, end;
    graph.replay(stream);
    std::vector<double> samples;
    double spent_s = 0;
    while (true) {
        HEADROOM_CUDA(cudaEventRecord(begin, stream));
        graph.replay(stream);
        HEADROOM_CUDA(cudaEventRecord(end, stream));
        HEADROOM_CUDA(cudaStreamSynchronize(stream));
        const double elapsed = seconds_between(begin, end);
        samples.push_back(elapsed / launches);
        spent_s += elapsed;
        if (static_cast<int>(samples.size()) < options.min_samples) continue;
        Timing timing = summarise(samples);
        if (timing.spread() <= options.spread) return timing;
        if (spent_s < options.limit_s && samples.size() < 2000) continue;
        timing.noisy = true;
        return timing;
    }
}

int rotation_for(std::size_t bytes_per_launch) {
    const double needed = 4.0 * static_cast<double>(device_info().l2_bytes);
    const double copies =
        std::ceil(needed / static_cast<double>(std::max<std::size_t>(bytes_per_launch, 1))) + 1;
    return static_cast<int>(std::clamp(copies, 1.0, 64.0));
}

}  // namespace headroom::kernels
