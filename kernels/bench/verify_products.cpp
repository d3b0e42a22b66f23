// SPDX-License-Identifier: Apache-2.0
#include "bench/check.h"
#include "common/attention_reference.h"
#include "measure/host_check.h"
#include "tiled_product/cross_entropy.h"
#include "tiled_product/feed_forward.h"

#include <cmath>
#include <random>

namespace headroom::kernels {

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }
double gelu(double x) {
    return x * sigmoid(2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x));
}

// What the kernels round to 16 bits on the way is not rounded here.
Eigen::MatrixXd feed_forward_reference(const Eigen::MatrixXd& x, const Eigen::MatrixXd& up,
                                       const Eigen::MatrixXd& gate, const Eigen::MatrixXd& down) {
    Eigen::MatrixXd inner = x * up.transpose();
    if (gate.size() == 0)
        inner = inner.unaryExpr(&gelu);
    else
        inner.array() *= (x * gate.transpose()).unaryExpr(&silu).array();
    return inner * down.transpose();
}

struct FeedForwardCheck {
    int tokens, hidden, inner;
    float deviation = 1;  // of x
};

void check_feed_forward(const FeedForwardCheck& c, bool gated, bool fused, Random& random, Report& report) {
    const auto width = [](int inputs) { return 1 / std::sqrt(static_cast<float>(inputs)); };
    const auto x = random.normal(count_of({c.tokens, c.hidden}), DType::kBf16, c.deviation);
    const auto up = random.normal(count_of({c.inner, c.hidden}), DType::kBf16, width(c.hidden));
    const auto gate = random.normal(count_of({c.inner, c.hidden}), DType::kBf16, width(c.hidden));
    const auto down = random.normal(count_of({c.hidden, c.inner}), DType::kBf16, width(c.inner));
    const auto y = random.poisoned(count_of({c.tokens, c.hidden}), DType::kBf16);
    const FeedForward layer(c.tokens, c.hidden, c.inner, gated, fused);
    layer.run(x.data(), {up.data(), gate.data(), down.data()}, y.data(), random.stream);
    random.stream.synchronize();
    const auto matrix = [](const DeviceBuffer& buffer, int rows, int columns) {
        return read_matrix(buffer.data(), 0, rows, columns, DType::kBf16);
    };
    const auto reference = feed_forward_reference(
        matrix(x, c.tokens, c.hidden), matrix(up, c.inner, c.hidden),
        gated ? matrix(gate, c.inner, c.hidden) : Eigen::MatrixXd(), matrix(down, c.hidden, c.inner));
    report.line("mlp t" + std::to_string(c.tokens) + " " + std::to_string(c.hidden) + "x" +
                    std::to_string(c.inner) + (gated ? " gated" : "") + (fused ? " fused" : " unfused") +
                    (c.deviation > 10 ? " large" : ""),
                relative_error(matrix(y, c.tokens, c.hidden), reference), 1e-2);
}

struct CrossEntropyCheck {
    int tokens, hidden, vocabulary;
    float deviation = 1;  // of x, and so of the logits
};

// Unfused, a logit is rounded to 16 bits: 2^-9 of itself. The error is of all losses together, against the
// root mean square of the losses.
void check_cross_entropy(const CrossEntropyCheck& c, bool fused, Random& random, Report& report) {
    const auto x = random.normal(count_of({c.tokens, c.hidden}), DType::kBf16, c.deviation);
    const auto w = random.normal(count_of({c.vocabulary, c.hidden}), DType::kBf16,
                                 1 / std::sqrt(static_cast<float>(c.hidden)));
    std::mt19937_64 generator(++random.seed);
    std::vector<int> targets(static_cast<std::size_t>(c.tokens));
    for (int& target : targets)
        target = static_cast<int>(generator() % static_cast<std::uint64_t>(c.vocabulary));
    targets.front() = c.vocabulary - 1;
    targets.back() = 0;
    const auto on_device = upload(targets);
    const auto losses = random.poisoned(targets.size(), DType::kFp32);
    const CrossEntropy loss(c.tokens, c.hidden, c.vocabulary, fused);
    loss.run(x.data(), w.data(), on_device.as<int>(), losses.as<float>(), random.stream);
    random.stream.synchronize();
    const Eigen::MatrixXd logits = read_matrix(x.data(), 0, c.tokens, c.hidden, DType::kBf16) *
                                   read_matrix(w.data(), 0, c.vocabulary, c.hidden, DType::kBf16).transpose();
    Eigen::MatrixXd reference(c.tokens, 1);
    for (int token = 0; token < c.tokens; ++token) {
        const double largest = logits.row(token).maxCoeff();
        reference(token) = std::log((logits.row(token).array() - largest).exp().sum()) + largest -
                           logits(token, targets[static_cast<std::size_t>(token)]);
    }
    report.line("loss t" + std::to_string(c.tokens) + " " + std::to_string(c.hidden) + "x" +
                    std::to_string(c.vocabulary) + (fused ? " fused" : " unfused") +
                    (c.deviation > 10 ? " large logits" : ""),
                relative_error(read_matrix(losses.data(), 0, c.tokens, 1, DType::kFp32), reference),
                fused ? 1e-4 : 2e-2);
}

}  // namespace

void check_products(bool quick, Random& random, Report& report) {
    std::vector<FeedForwardCheck> layers{
        {1, 8, 8}, {5, 40, 72}, {129, 136, 200}, {131, 64, 2056}, {77, 96, 136, 300}};
    // More groups of tokens than one, the last one short.
    if (!quick) layers.push_back({2309, 264, 520});
    for (const auto& layer : layers) {
        for (const bool gated : {false, true}) {
            for (const bool fused : {false, true}) check_feed_forward(layer, gated, fused, random, report);
        }
    }
    std::vector<CrossEntropyCheck> losses{{2, 8, 3},         {3, 16, 7},      {130, 40, 333},
                                          {65, 136, 2049},   {129, 72, 5003}, {33, 64, 4099, 3e4f},
                                          {140, 32, 17, 300}};
    if (!quick) losses.push_back({2309, 104, 3001});
    for (const auto& loss : losses) {
        for (const bool fused : {false, true}) check_cross_entropy(loss, fused, random, report);
    }
}

}  // namespace headroom::kernels
