// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/matmul.h"
#include "weight_stream/stream_schedule.h"

#include <optional>

namespace headroom::kernels {

class WeightStream {
  public:
    explicit WeightStream(const WeightStreamShape& shape);

    // Overwrites y.
    void tune(const void* x, const void* w, void* y, float alpha);
    bool uses_own_kernel() const { return !use_product_; }
    void run(const void* x, const void* w, void* y, float alpha, Stream stream) const;

  private:
    WeightStreamShape shape_;
    StreamSchedule schedule_;  // splits the inputs, so that a matrix with few outputs fills the device
    DeviceBuffer partials_, counters_;
    std::optional<Matmul> product_;
    bool use_product_ = false;
};

}  // namespace headroom::kernels
