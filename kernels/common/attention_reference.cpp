// SPDX-License-Identifier: Apache-2.0
#include "common/attention_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headroom::kernels {

Eigen::MatrixXd attention_reference(const Eigen::MatrixXd& q, const Eigen::MatrixXd& k,
                                    const Eigen::MatrixXd& v, double scale, bool causal) {
    Eigen::MatrixXd logits = scale * q * k.transpose();
    const Eigen::Index shift = k.rows() - q.rows();
    for (Eigen::Index i = 0; i < logits.rows(); ++i) {
        const Eigen::Index seen = causal ? i + shift + 1 : logits.cols();
        auto row = logits.row(i);
        const double largest = row.head(seen).maxCoeff();
        row.head(seen) = (row.head(seen).array() - largest).exp();
        row.tail(logits.cols() - seen).setZero();
        row /= row.sum();
    }
    return logits * v;
}

Eigen::MatrixXd online_attention_reference(const Eigen::MatrixXd& q, const Eigen::MatrixXd& k,
                                           const Eigen::MatrixXd& v, double scale, int block_tokens) {
    Eigen::MatrixXd output = Eigen::MatrixXd::Zero(q.rows(), v.cols());
    Eigen::VectorXd maximum = Eigen::VectorXd::Constant(q.rows(), -std::numeric_limits<double>::infinity());
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(q.rows());
    for (Eigen::Index first = 0; first < k.rows(); first += block_tokens) {
        const Eigen::Index tokens = std::min<Eigen::Index>(block_tokens, k.rows() - first);
        Eigen::MatrixXd s = scale * q * k.middleRows(first, tokens).transpose();
        const Eigen::VectorXd seen = maximum.cwiseMax(s.rowwise().maxCoeff());
        const Eigen::VectorXd factor = (maximum - seen).array().exp();
        s = (s.colwise() - seen).array().exp();
        sum = sum.cwiseProduct(factor) + s.rowwise().sum();
        output = factor.asDiagonal() * output + s * v.middleRows(first, tokens);
        maximum = seen;
    }
    return sum.cwiseInverse().asDiagonal() * output;
}

}  // namespace headroom::kernels
