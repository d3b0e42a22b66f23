// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"
#include "common/dtype.h"

#include <cstdint>

namespace headroom::kernels {

// In place: each row of `columns` logits becomes its softmax. Rows are `row_stride` elements apart, a
// multiple of 8; elements from `columns` up to the next multiple of 8 become zero.
struct SoftmaxShape {
    std::int64_t rows = 0;
    int columns = 0;
    std::int64_t row_stride = 0;
    DType dtype = DType::kFp16;  // fp16 or bf16
    int causal_rows = 0;         // > 0: row i sees columns 0 .. (i mod causal_rows) + columns - causal_rows
};

// One read and one write of the rows up to 16384 columns; beyond, a second read that mostly
// finds them in L2.
void softmax(const SoftmaxShape& shape, void* scores, Stream stream);

}  // namespace headroom::kernels
