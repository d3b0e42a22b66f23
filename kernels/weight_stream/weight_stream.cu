// SPDX-License-Identifier: Apache-2.0
#include "common/async_copy.cuh"
#include "common/error.h"
#include "common/launch.cuh"
#include "common/mma.cuh"
#include "common/timing.h"
#include "weight_stream/weight_stream.h"

#include <algorithm>

// Rows of w are the rows of mma tiles (16 to a warp) and the batch their columns (8 to a tile), so w is read
// once and never transposed. Steps of one or two hundred bytes of each row travel through a ring of
// shared-memory stages; blocks begin at different steps, so that they do not all ask for the same lines of x
// at once.

namespace headroom::kernels {

namespace {

struct StreamParameters {
    const unsigned char* x;
    const unsigned char* w;
    __nv_bfloat16* y;
    float* partials;  // [split][batch][outputs]
    int* counters;    // [tile of outputs], zero between launches
    float alpha;
    int batch, outputs;
    std::int64_t row_bytes;  // of x and w
    int steps_per_split;
};

template <int Tiles>
struct StreamTile {
    static constexpr int kWarps = stream_warps(Tiles);
    static constexpr int kOutputs = stream_outputs(Tiles);
    static constexpr int kRowBytes = stream_step_bytes(Tiles);
    static constexpr int kChunks = kRowBytes / 16;
    static constexpr int kStages = stream_stages(Tiles);
    static constexpr int kBlocks = stream_blocks(Tiles);
    static constexpr int kStageBytes = (kOutputs + Tiles * 8) * kRowBytes;
    static constexpr int kSharedBytes = kStages * kStageBytes;
};

template <Reuse R, int Rows, int kChunks, int Threads>
__device__ void copy_step_rows(std::uint32_t shared, const unsigned char* source, std::int64_t row_bytes,
                               int rows, std::int64_t at) {
#pragma unroll
    for (int i = 0; i < (Rows * kChunks + Threads - 1) / Threads; ++i) {
        const int piece = i * Threads + threadIdx.x;
        if (Rows * kChunks % Threads != 0 && piece >= Rows * kChunks) break;
        const int row = piece / kChunks, chunk = piece % kChunks;
        const bool valid = row < rows && at + chunk * 16 < row_bytes;
        copy_16_async<R>(shared + swizzled<kChunks>(row, chunk),
                         source + (valid ? row * row_bytes + at + chunk * 16 : 0), valid);
    }
}

// Sums the splits of one tile of outputs; run by the last of its blocks.
template <int Outputs, int Threads>
__device__ void sum_splits(const StreamParameters& p, int first_output) {
    const int outputs = min(Outputs, p.outputs - first_output);
    for (int i = threadIdx.x; i < p.batch * Outputs; i += Threads) {
        const int row = i / Outputs, output = i % Outputs;
        if (output >= outputs) continue;
        float sum = 0;
        for (unsigned split = 0; split < gridDim.y; ++split) {
            sum += __ldcg(p.partials + (std::int64_t(split) * p.batch + row) * p.outputs + first_output +
                          output);
        }
        p.y[std::int64_t(row) * p.outputs + first_output + output] = __float2bfloat16(sum);
    }
}

template <class T, int Tiles>
__global__ void __launch_bounds__(StreamTile<Tiles>::kWarps * 32, StreamTile<Tiles>::kBlocks)
    weight_stream_kernel(const StreamParameters p) {
    using Tile = StreamTile<Tiles>;
    constexpr int kThreads = Tile::kWarps * 32;
    constexpr int kRowBytes = Tile::kRowBytes, kChunks = Tile::kChunks;
    extern __shared__ __align__(1024) unsigned char shared[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int first_output = blockIdx.x * Tile::kOutputs;
    const unsigned char* w = p.w + first_output * p.row_bytes;
    const int all_steps = static_cast<int>((p.row_bytes + kRowBytes - 1) / kRowBytes);
    const int first_step = blockIdx.y * p.steps_per_split;
    const int steps = min(p.steps_per_split, all_steps - first_step);
    const int stagger = static_cast<int>(blockIdx.x % static_cast<unsigned>(steps));
    const std::uint32_t base = shared_address(shared);
    const auto stage_of = [&](int step) { return base + (step % Tile::kStages) * Tile::kStageBytes; };
    const auto place_of = [&](int step) {
        return std::int64_t(first_step + (step + stagger) % steps) * kRowBytes;
    };
    const auto copy_w = [&](int step) {
        if (step >= steps) return;
        copy_step_rows<Reuse::kOnce, Tile::kOutputs, kChunks, kThreads>(
            stage_of(step), w, p.row_bytes, p.outputs - first_output, place_of(step));
    };
    const auto copy_x = [&](int step) {
        if (step >= steps) return;
        copy_step_rows<Reuse::kMany, Tiles * 8, kChunks, kThreads>(
            stage_of(step) + Tile::kOutputs * kRowBytes, p.x, p.row_bytes, p.batch, place_of(step));
    };
    // Weights are no kernel's result: their first steps are on the way while the kernel before ends. They all
    // count to the first group of copies.
#pragma unroll
    for (int step = 0; step < Tile::kStages - 1; ++step) copy_w(step);
    wait_for_previous_kernel();
#pragma unroll
    for (int step = 0; step < Tile::kStages - 1; ++step) {
        copy_x(step);
        commit_copies();
    }

    float sums[Tiles][4] = {};
    for (int step = 0; step < steps; ++step) {
        wait_for_copies<Tile::kStages - 2>();
        __syncthreads();
        copy_w(step + Tile::kStages - 1);
        copy_x(step + Tile::kStages - 1);
        commit_copies();
        const std::uint32_t stage = stage_of(step);
        const std::uint32_t x_tile = stage + Tile::kOutputs * kRowBytes;
#pragma unroll
        for (int k = 0; k < kChunks / 2; ++k) {
            std::uint32_t a[4];
            load_matrix(a, stage + swizzled<kChunks>(warp * 16 + lane % 16, k * 2 + lane / 16));
            if constexpr (Tiles == 1) {
                // Two of the four matrices are the next k's; reading them again costs less than a second
                // shape.
                std::uint32_t b[4];
                load_matrix(b, x_tile + swizzled<kChunks>(lane % 8, (k * 2 + lane / 8) % kChunks));
                mma<T>(sums[0], a, b[0], b[1]);
            } else {
#pragma unroll
                for (int pair = 0; pair < Tiles / 2; ++pair) {
                    std::uint32_t b[4];
                    load_matrix(b, x_tile + swizzled<kChunks>(pair * 16 + (lane / 16) * 8 + lane % 8,
                                                              k * 2 + (lane / 8) % 2));
                    mma<T>(sums[pair * 2], a, b[0], b[1]);
                    mma<T>(sums[pair * 2 + 1], a, b[2], b[3]);
                }
            }
        }
    }
    wait_for_copies<0>();
    // Not before: blocks of the next kernel that come early fill the multiprocessors unevenly.
    allow_next_kernel();

    const bool whole = gridDim.y == 1;
#pragma unroll
    for (int t = 0; t < Tiles; ++t) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = t * 8 + 2 * (lane & 3) + (i & 1);
            const int output = first_output + warp * 16 + (i / 2) * 8 + lane / 4;
            if (row >= p.batch || output >= p.outputs) continue;
            const float value = sums[t][i] * p.alpha;
            if (whole) {
                p.y[std::int64_t(row) * p.outputs + output] = __float2bfloat16(value);
            } else {
                __stcg(p.partials + (std::int64_t(blockIdx.y) * p.batch + row) * p.outputs + output, value);
            }
        }
    }
    if (whole) return;
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(p.counters + blockIdx.x, 1) == static_cast<int>(gridDim.y) - 1;
        if (last) p.counters[blockIdx.x] = 0;
        __threadfence();
    }
    __syncthreads();
    if (last) sum_splits<Tile::kOutputs, kThreads>(p, first_output);
}

template <class T, int Tiles>
void launch(const StreamParameters& parameters, int splits, Stream stream) {
    using Tile = StreamTile<Tiles>;
    static const bool raised = [] {
        HEADROOM_CUDA(cudaFuncSetAttribute(weight_stream_kernel<T, Tiles>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes));
        return true;
    }();
    static_cast<void>(raised);
    const dim3 grid(static_cast<unsigned>((parameters.outputs + Tile::kOutputs - 1) / Tile::kOutputs),
                    static_cast<unsigned>(splits));
    launch_overlapped(weight_stream_kernel<T, Tiles>, grid, dim3(Tile::kWarps * 32), Tile::kSharedBytes,
                      stream, parameters);
}

template <class T>
void launch_typed(const StreamParameters& parameters, int splits, Stream stream) {
    switch (stream_tiles(parameters.batch)) {
        case 1:
            return launch<T, 1>(parameters, splits, stream);
        case 2:
            return launch<T, 2>(parameters, splits, stream);
        case 4:
            return launch<T, 4>(parameters, splits, stream);
        default:
            return launch<T, 8>(parameters, splits, stream);
    }
}

}  // namespace

WeightStream::WeightStream(const WeightStreamShape& shape) : shape_(shape) {
    HEADROOM_REQUIRE(shape.batch > 0 && shape.inputs > 0 && shape.outputs > 0, "weight stream: empty shape");
    HEADROOM_REQUIRE(shape.dtype == DType::kBf16 || shape.dtype == DType::kFp8E4M3,
                     "weight stream: the type is not bf16 or fp8");
    HEADROOM_REQUIRE(shape.dtype == DType::kBf16 || device_info().compute() >= 89,
                     "weight stream: fp8 products need compute capability 8.9");
    HEADROOM_REQUIRE(static_cast<std::size_t>(shape.inputs) * size_of(shape.dtype) % 16 == 0,
                     "weight stream: a row is not a multiple of 16 bytes");
    use_product_ = shape.batch > kMostStreamBatch;
    MatmulShape product;
    product.rows = shape.batch;
    product.columns = shape.outputs;
    product.depth = shape.inputs;
    product.input = shape.dtype;
    try {
        product_.emplace(product);
    } catch (const DeviceError&) {
        if (use_product_) throw;  // the library lacks the shape, and so do we
    }
    if (use_product_) return;
    schedule_ = stream_schedule(shape, device_info().multiprocessors);
    if (schedule_.splits == 1) return;
    const auto values = static_cast<std::size_t>(schedule_.splits) * static_cast<std::size_t>(shape.batch) *
                        static_cast<std::size_t>(shape.outputs);
    partials_ = DeviceBuffer(values * sizeof(float));
    counters_ = upload(std::vector<int>(static_cast<std::size_t>(shape.outputs / 64 + 1), 0));
}

void WeightStream::tune(const void* x, const void* w, void* y, float alpha) {
    if (!product_) return;
    product_->tune(x, w, y, alpha);
    if (shape_.batch > kMostStreamBatch) return;
    TimingOptions quick;
    quick.limit_s = 0.01;
    const auto time = [&](bool product) {
        use_product_ = product;
        return time_graph([&](Stream stream, int) { run(x, w, y, alpha, stream); }, quick).median_s;
    };
    const double own_s = time(false);
    use_product_ = time(true) < own_s;
}

void WeightStream::run(const void* x, const void* w, void* y, float alpha, Stream stream) const {
    if (use_product_) return product_->run(x, w, y, alpha, stream);
    const StreamParameters parameters{
        static_cast<const unsigned char*>(x),
        static_cast<const unsigned char*>(w),
        static_cast<__nv_bfloat16*>(y),
        partials_.as<float>(),
        counters_.as<int>(),
        alpha,
        shape_.batch,
        shape_.outputs,
        std::int64_t{shape_.inputs} * static_cast<std::int64_t>(size_of(shape_.dtype)),
        schedule_.steps_per_split};
    if (shape_.dtype == DType::kBf16)
        return launch_typed<__nv_bfloat16>(parameters, schedule_.splits, stream);
    launch_typed<__nv_fp8_e4m3>(parameters, schedule_.splits, stream);
}

}  // namespace headroom::kernels
