// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"

namespace headroom::kernels {

// y[tokens][outputs] = epilogue(x[tokens][inputs] w[outputs][inputs]^T), bf16 with fp32 sums. `inputs` is a
// multiple of 8; rows of y are `y_stride` values apart, a multiple of 8 from `outputs` on, and what lies
// between is overwritten with zeros.
struct TiledProductShape {
    int tokens = 0, inputs = 0, outputs = 0, y_stride = 0;
};

enum class Epilogue {
    kStore,
    kGelu,   // u sigmoid(2 sqrt(2/pi) (u + 0.044715 u^3)): GELU by its usual tanh form
    kGated,  // x w^T times silu(x gate^T)
};

// `gate` is looked at by kGated only.
void tiled_product(Epilogue epilogue, const TiledProductShape& shape, const void* x, const void* w,
                   const void* gate, void* y, Stream stream);

// a = gelu(u), or u silu(g) where `g` is given; each [tokens][columns], columns a multiple of 8.
void activation(int tokens, int columns, const void* u, const void* g, void* a, Stream stream);

}  // namespace headroom::kernels
