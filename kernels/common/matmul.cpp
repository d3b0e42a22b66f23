// SPDX-License-Identifier: Apache-2.0
#include "common/matmul.h"

#include "common/error.h"
#include "common/timing.h"

#include <array>
#include <vector>

#include <cublasLt.h>
#include <cuda_runtime.h>

namespace headroom::kernels {

namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;
constexpr int kSuggestions = 8;

cudaDataType_t cuda_type(DType type) {
    switch (type) {
        case DType::kBf16:
            return CUDA_R_16BF;
        case DType::kFp16:
            return CUDA_R_16F;
        case DType::kFp8E4M3:
            return CUDA_R_8F_E4M3;
        case DType::kInt8:
            return CUDA_R_8I;
        case DType::kFp32:
            return CUDA_R_32F;
    }
    return CUDA_R_32F;
}

cublasLtMatrixLayout_t make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                   std::int64_t leading, int batch, std::int64_t stride) {
    cublasLtMatrixLayout_t layout = nullptr;
    HEADROOM_CUBLAS(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                               static_cast<std::uint64_t>(columns), leading));
    HEADROOM_CUBLAS(
        cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    HEADROOM_CUBLAS(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                     &stride, sizeof stride));
    return layout;
}

cublasLtHandle_t library_handle() {
    static const cublasLtHandle_t handle = [] {
        cublasLtHandle_t created = nullptr;
        HEADROOM_CUBLAS(cublasLtCreate(&created));
        return created;
    }();
    return handle;
}

}  // namespace

// cuBLASLt is column-major: a row-major C = A B is its C^T = B^T A^T, so B is its first operand.
struct Matmul::State {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
    std::vector<cublasLtMatmulAlgo_t> suggestions;
    cublasLtMatmulAlgo_t chosen{};
    DeviceBuffer workspace{kWorkspaceBytes};
    bool integer = false;

    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        cublasLtMatrixLayoutDestroy(result);
        cublasLtMatrixLayoutDestroy(second);
        cublasLtMatrixLayoutDestroy(first);
        cublasLtMatmulDescDestroy(operation);
    }

    void describe(const MatmulShape& s) {
        integer = s.input == DType::kInt8;
        const auto input = cuda_type(s.input);
        const auto output = integer ? CUDA_R_32I : cuda_type(s.output);
        HEADROOM_CUBLAS(cublasLtMatmulDescCreate(&operation,
                                                 integer ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F,
                                                 integer ? CUDA_R_32I : CUDA_R_32F));
        const cublasOperation_t transpose = s.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
        HEADROOM_CUBLAS(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                                       sizeof transpose));
        first = s.b_transposed ? make_layout(input, s.depth, s.columns, s.depth, s.batch, s.b_batch_stride)
                               : make_layout(input, s.columns, s.depth, s.columns, s.batch, s.b_batch_stride);
        second = make_layout(input, s.depth, s.rows, s.depth, s.batch, s.a_batch_stride);
        result = make_layout(output, s.columns, s.rows, s.columns, s.batch, s.c_batch_stride);
    }

    void suggest() {
        cublasLtMatmulPreference_t preference = nullptr;
        HEADROOM_CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
        HEADROOM_CUBLAS(cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes, sizeof kWorkspaceBytes));
        std::array<cublasLtMatmulHeuristicResult_t, kSuggestions> found{};
        int count = 0;
        const auto status =
            cublasLtMatmulAlgoGetHeuristic(library_handle(), operation, first, second, result, result,
                                           preference, kSuggestions, found.data(), &count);
        cublasLtMatmulPreferenceDestroy(preference);
        HEADROOM_CUBLAS(status);
        HEADROOM_REQUIRE(count > 0, "cuBLASLt has no kernel for this product");
        for (int i = 0; i < count; ++i) suggestions.push_back(found[static_cast<std::size_t>(i)].algo);
        chosen = suggestions.front();
    }

    cublasStatus_t enqueue(const cublasLtMatmulAlgo_t& algorithm, const void* a, const void* b, void* c,
                           float alpha, Stream stream) const {
        const float zero = 0;
        const int integer_alpha = 1, integer_zero = 0;
        const void* scale = integer ? static_cast<const void*>(&integer_alpha) : &alpha;
        const void* keep = integer ? static_cast<const void*>(&integer_zero) : &zero;
        return cublasLtMatmul(library_handle(), operation, scale, b, first, a, second, keep, c, result, c,
                              result, &algorithm, workspace.data(), kWorkspaceBytes, stream);
    }
};

Matmul::Matmul(const MatmulShape& shape) : state_(std::make_unique<State>()) {
    state_->describe(shape);
    state_->suggest();
}
Matmul::~Matmul() = default;
Matmul::Matmul(Matmul&&) noexcept = default;
Matmul& Matmul::operator=(Matmul&&) noexcept = default;

void Matmul::tune(const void* a, const void* b, void* c, float alpha) {
    double best = 0;
    for (const auto& algorithm : state_->suggestions) {
        {
            const OwnedStream trial;
            const auto status = state_->enqueue(algorithm, a, b, c, alpha, trial);
            if (status != CUBLAS_STATUS_SUCCESS) continue;
            trial.synchronize();
        }
        TimingOptions quick;
        quick.min_samples = 3;
        quick.limit_s = 0.005;
        quick.max_launches = 4;
        const double time =
            time_graph([&](Stream stream,
                           int) { HEADROOM_CUBLAS(state_->enqueue(algorithm, a, b, c, alpha, stream)); },
                       quick)
                .median_s;
        if (best > 0 && time >= best) continue;
        best = time;
        state_->chosen = algorithm;
    }
}

void Matmul::run(const void* a, const void* b, void* c, float alpha, Stream stream) const {
    HEADROOM_CUBLAS(state_->enqueue(state_->chosen, a, b, c, alpha, stream));
}

}  // namespace headroom::kernels
