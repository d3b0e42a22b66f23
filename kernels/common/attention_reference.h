// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

namespace headroom::kernels {

// softmax(scale * q k^T) v for one head in double precision, two passes over each row. q is (queries x d), k
// and v (tokens x d). With `causal`, query i sees tokens 0 .. i + tokens - queries.
Eigen::MatrixXd attention_reference(const Eigen::MatrixXd& q, const Eigen::MatrixXd& k,
                                    const Eigen::MatrixXd& v, double scale, bool causal);

// The same in one pass over blocks of tokens with a running maximum: what the fused kernels do.
Eigen::MatrixXd online_attention_reference(const Eigen::MatrixXd& q, const Eigen::MatrixXd& k,
                                           const Eigen::MatrixXd& v, double scale, int block_tokens);

}  // namespace headroom::kernels
