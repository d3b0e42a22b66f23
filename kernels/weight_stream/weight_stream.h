// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/matmul.h"

#include <optional>

namespace headroom::kernels {

// y[batch][outputs] = alpha * x[batch][inputs] * w[outputs][inputs]^T: a linear layer in decode. x and w are
// both bf16 or both fp8 (e4m3, sm_89 on); y is bf16. `inputs` is a multiple of 16 bytes' worth of values.
struct WeightStreamShape {
    int batch = 1;
    int inputs = 0;
    int outputs = 0;
    DType dtype = DType::kBf16;
};

class WeightStream {
  public:
    explicit WeightStream(const WeightStreamShape& shape);

    // Up to this batch our own kernel runs, unless tune() found cuBLASLt faster; beyond, cuBLASLt.
    static constexpr int kMostOwnBatch = 64;

    // Overwrites y.
    void tune(const void* x, const void* w, void* y, float alpha);
    bool uses_own_kernel() const { return !use_product_; }
    void run(const void* x, const void* w, void* y, float alpha, Stream stream) const;

  private:
    WeightStreamShape shape_;
    int splits_ = 1;  // of the inputs, so that a matrix with few outputs fills the device
    DeviceBuffer partials_, counters_;
    std::optional<Matmul> product_;
    bool use_product_ = false;
};

}  // namespace headroom::kernels
