// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/dtype.h"

#include <algorithm>

// How the weight kernel cuts its product: pure host code, for the kernel and for the model of it.

namespace headroom::kernels {

// y[batch][outputs] = alpha * x[batch][inputs] * w[outputs][inputs]^T: a linear layer in decode. x and w are
// both bf16 or both fp8 (e4m3, sm_89 on); y is bf16. `inputs` is a multiple of 16 bytes' worth of values.
struct WeightStreamShape {
    int batch = 1;
    int inputs = 0;
    int outputs = 0;
    DType dtype = DType::kBf16;
};

// Up to this batch our own kernel runs, unless tuning finds cuBLASLt faster; beyond, cuBLASLt.
constexpr int kMostStreamBatch = 64;

// Tiles of 8 rows of x that a block holds.
constexpr int stream_tiles(int batch) { return batch <= 8 ? 1 : batch <= 16 ? 2 : batch <= 32 ? 4 : 8; }

// Bytes of each row in a step: longer runs suit the memory, but x takes its part of the shared memory.
constexpr int stream_step_bytes(int tiles) { return tiles == 1 ? 256 : 128; }
constexpr int stream_warps(int tiles) { return tiles <= 2 ? 4 : 8; }  // more rows share x where x is large
constexpr int stream_outputs(int tiles) { return stream_warps(tiles) * 16; }  // of one block
constexpr int stream_stages(int tiles) { return tiles == 1 ? 3 : tiles == 2 ? 5 : 4; }
constexpr int stream_blocks(int tiles) { return tiles <= 2 ? 4 : 2; }  // on a multiprocessor

// Steps of the whole of a row, and of one block of the `splits` that its inputs are cut into.
struct StreamSchedule {
    int blocks = 0;  // over the outputs
    int splits = 1;
    int steps = 0;            // of a row
    int steps_per_split = 0;  // the last split may have fewer
};

// Enough blocks for one full wave, none with less than 2 KB of each row, none empty.
constexpr StreamSchedule stream_schedule(const WeightStreamShape& shape, int multiprocessors) {
    const int tiles = stream_tiles(shape.batch);
    const auto divide_up = [](int a, int b) { return (a + b - 1) / b; };
    StreamSchedule s;
    s.steps = divide_up(shape.inputs * static_cast<int>(size_of(shape.dtype)), stream_step_bytes(tiles));
    s.blocks = divide_up(shape.outputs, stream_outputs(tiles));
    const int most = std::max(1, s.steps * stream_step_bytes(tiles) / 2048);
    const int wanted = std::clamp(multiprocessors * stream_blocks(tiles) / s.blocks, 1, most);
    s.steps_per_split = divide_up(s.steps, wanted);
    s.splits = divide_up(s.steps, s.steps_per_split);
    return s;
}

}  // namespace headroom::kernels
