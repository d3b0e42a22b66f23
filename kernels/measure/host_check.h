// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "paged_decode_attention/paged_decode_attention.h"

#include <Eigen/Core>

namespace headroom::kernels {

// ||out - reference|| / ||reference||; infinite if any element is not a number.
double relative_error(const Eigen::MatrixXd& out, const Eigen::MatrixXd& reference);

// A row-major (rows x columns) matrix of device memory, in double precision.
Eigen::MatrixXd read_matrix(const void* device, std::size_t offset, Eigen::Index rows, Eigen::Index columns,
                            DType type);

// Keys or values of one sequence and KV head as (tokens x head_dim). Without a block table the cache is
// contiguous.
Eigen::MatrixXd gather(const PagedCache& cache, const void* tensor, const DecodeShape& shape, int sequence,
                       int kv_head);

// Error of one sequence's group of query heads against the double-precision reference.
double decode_unit_error(const DecodeShape& shape, const void* query, const PagedCache& cache,
                         const void* output, float scale, int sequence, int kv_head);

// The largest such error over a few units of the batch, among them the first and the last.
double decode_sample_error(const DecodeShape& shape, const void* query, const PagedCache& cache,
                           const void* output, float scale);

}  // namespace headroom::kernels
