// SPDX-License-Identifier: Apache-2.0
#include "measure/host_check.h"

#include "common/attention_reference.h"
#include "common/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headroom::kernels {

double relative_error(const Eigen::MatrixXd& out, const Eigen::MatrixXd& reference) {
    if (!out.allFinite()) return std::numeric_limits<double>::infinity();
    return (out - reference).norm() / std::max(reference.norm(), 1e-300);
}

Eigen::MatrixXd read_matrix(const void* device, std::size_t offset, Eigen::Index rows, Eigen::Index columns,
                            DType type) {
    const auto values = read_values(device, offset, static_cast<std::size_t>(rows * columns), type);
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    return Eigen::Map<const RowMajor>(values.data(), rows, columns);
}

Eigen::MatrixXd gather(const PagedCache& cache, const void* tensor, const DecodeShape& shape, int sequence,
                       int kv_head) {
    const int length = shape.lengths[static_cast<std::size_t>(sequence)];
    const int block_tokens = cache.block_table != nullptr ? cache.block_tokens : length;
    std::vector<int> blocks(static_cast<std::size_t>((length + block_tokens - 1) / block_tokens), sequence);
    if (cache.block_table != nullptr) {
        copy_to_host(blocks.data(), cache.block_table + std::ptrdiff_t{sequence} * cache.table_stride,
                     blocks.size() * sizeof(int));
    }
    Eigen::MatrixXd result(length, shape.head_dim);
    const auto& strides = cache.strides;
    for (int first = 0; first < length; first += block_tokens) {
        const int tokens = std::min(block_tokens, length - first);
        const std::int64_t block = blocks[static_cast<std::size_t>(first / block_tokens)];
        const auto offset = static_cast<std::size_t>(block * strides.outer + kv_head * strides.head);
        // Read with the token stride, then keep the head's own columns.
        const Eigen::Index width = static_cast<Eigen::Index>(strides.token);
        const auto values = read_values(
            tensor, offset, static_cast<std::size_t>((tokens - 1) * width + shape.head_dim), shape.dtype);
        for (int token = 0; token < tokens; ++token) {
            for (int d = 0; d < shape.head_dim; ++d) {
                result(first + token, d) = values[static_cast<std::size_t>(token * width + d)];
            }
        }
    }
    return result;
}

double decode_unit_error(const DecodeShape& shape, const void* query, const PagedCache& cache,
                         const void* output, float scale, int sequence, int kv_head) {
    const auto first = static_cast<std::size_t>(sequence * shape.query_heads + kv_head * shape.group()) *
                       static_cast<std::size_t>(shape.head_dim);
    const auto q = read_matrix(query, first, shape.group(), shape.head_dim, shape.dtype);
    const auto out = read_matrix(output, first, shape.group(), shape.head_dim, shape.dtype);
    const auto k = gather(cache, cache.keys, shape, sequence, kv_head);
    const auto v = gather(cache, cache.values, shape, sequence, kv_head);
    return relative_error(out, attention_reference(q, k, v, static_cast<double>(scale), false));
}

double decode_sample_error(const DecodeShape& shape, const void* query, const PagedCache& cache,
                           const void* output, float scale) {
    const int units = static_cast<int>(shape.lengths.size()) * shape.kv_heads;
    double worst = 0;
    for (const int unit : {0, units / 3, units - 1}) {
        const double error = decode_unit_error(shape, query, cache, output, scale, unit / shape.kv_heads,
                                               unit % shape.kv_heads);
        worst = std::max(worst, error);
    }
    return worst;
}

}  // namespace headroom::kernels
