// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"
#include "common/dtype.h"

#include <cstdint>
#include <memory>

namespace headroom::kernels {

// C[rows][columns] = alpha * A[rows][depth] * B, all row-major, fp32 (for int8: int32) accumulation.
struct MatmulShape {
    std::int64_t rows = 0, columns = 0, depth = 0;
    bool b_transposed =
        true;  // B is stored [columns][depth], as a linear layer's weights are; else [depth][columns]
    DType input = DType::kBf16;
    DType output = DType::kBf16;  // ignored for int8 input, whose output is int32
    int batch = 1;
    std::int64_t a_batch_stride = 0, b_batch_stride = 0, c_batch_stride = 0;  // elements
};

// A cuBLASLt product with its workspace.
class Matmul {
  public:
    explicit Matmul(const MatmulShape& shape);
    ~Matmul();
    Matmul(Matmul&&) noexcept;
    Matmul& operator=(Matmul&&) noexcept;

    // Times the library's first suggestions on these operands and keeps the fastest. Overwrites `c`.
    void tune(const void* a, const void* b, void* c, float alpha);
    void run(const void* a, const void* b, void* c, float alpha, Stream stream) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace headroom::kernels
