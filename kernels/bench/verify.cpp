// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "bench/check.h"
#include "common/attention_reference.h"
#include "common/error.h"
#include "measure/host_check.h"
#include "paged_decode_attention/block_table.h"
#include "standard_attention/standard_attention.h"
#include "weight_stream/weight_stream.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace headroom::kernels {

namespace {

// Rounding of the probabilities to 16 bits dominates: 2^-9 relative for bf16, 2^-12 for fp16, with room.
double tolerance(DType type) { return type == DType::kFp16 ? 2e-3 : 1e-2; }

struct DecodeCheck {
    DecodeShape shape;
    float deviation = 1;   // of the queries: 300 makes logits whose exponentials overflow
    int block_tokens = 0;  // 0: contiguous
    int shared_blocks = 0;
    bool tokens_outside_heads = false;  // [token][head] inside a block rather than [head][token]
    int chunk_tokens = 0;
};

CacheStrides strides_of(const DecodeShape& shape, int tokens, bool tokens_outside_heads) {
    const std::int64_t d = shape.head_dim;
    if (tokens_outside_heads) return {tokens * shape.kv_heads * d, d, shape.kv_heads * d};
    return {tokens * shape.kv_heads * d, tokens * d, d};
}

// Values past a sequence's end must not reach the output, whatever they are.
void poison_tail(const DecodeCheck& check, const CacheStrides& strides, void* tensor, int block, int first,
                 int end, const Random& random) {
    for (int head = 0; head < check.shape.kv_heads; ++head) {
        for (int token = first; token < end; ++token) {
            const auto offset =
                static_cast<std::size_t>(block * strides.outer + head * strides.head + token * strides.token);
            poison(static_cast<char*>(tensor) + offset * 2,
                   static_cast<std::size_t>(check.shape.head_dim) * 2, random.stream);
        }
    }
}

void check_decode(const DecodeCheck& check, Random& random, Report& report) {
    const auto& shape = check.shape;
    const int batch = static_cast<int>(shape.lengths.size());
    const int longest = *std::max_element(shape.lengths.begin(), shape.lengths.end());
    const bool paged = check.block_tokens > 0;
    const int place_tokens = paged ? check.block_tokens : longest;
    const int places =
        paged ? blocks_needed(shape.lengths, check.block_tokens, check.shared_blocks) + 3 : batch;
    const auto cache_values = count_of({places, place_tokens, shape.kv_heads, shape.head_dim});
    const auto query_values = count_of({batch, shape.query_heads, shape.head_dim});
    const auto query = random.normal(query_values, shape.dtype, check.deviation);
    const auto keys = random.normal(cache_values, shape.dtype, 1);
    const auto values = random.normal(cache_values, shape.dtype, 1);
    const auto output = random.poisoned(query_values, shape.dtype);
    const auto strides = strides_of(shape, place_tokens, check.tokens_outside_heads);
    BlockTable table;
    if (paged) {
        table =
            make_block_table(shape.lengths, check.block_tokens, places, check.shared_blocks, 5, random.seed);
    }
    for (int sequence = 0; sequence < batch; ++sequence) {
        const int length = shape.lengths[static_cast<std::size_t>(sequence)];
        const int last = paged ? table.entries[static_cast<std::size_t>(sequence * table.stride +
                                                                        (length - 1) / check.block_tokens)]
                               : sequence;
        const int used = paged ? (length - 1) % check.block_tokens + 1 : length;
        if (paged && length <= check.shared_blocks * check.block_tokens) continue;
        for (void* tensor : {keys.data(), values.data()}) {
            poison_tail(check, strides, tensor, last, used, place_tokens, random);
        }
    }
    random.stream.synchronize();
    const auto entries = upload(table.entries);
    const PagedCache cache{keys.data(),       values.data(), strides,
                           entries.as<int>(), table.stride,  check.block_tokens};
    const DecodePlan plan(shape, {check.chunk_tokens});
    const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
    double worst = 0;
    for (int round = 0; round < 2; ++round) {  // twice: the plan's counters must come back to zero
        poison(output.data(), output.bytes(), random.stream);
        if (paged) {
            paged_decode_attention(plan, query.data(), cache, output.data(), scale, random.stream);
        } else {
            decode_attention(plan, query.data(), {keys.data(), values.data(), strides}, output.data(), scale,
                             random.stream);
        }
        random.stream.synchronize();
        for (int sequence = 0; sequence < batch; ++sequence) {
            for (int head = 0; head < shape.kv_heads; ++head) {
                worst = std::max(worst, decode_unit_error(shape, query.data(), cache, output.data(), scale,
                                                          sequence, head));
            }
        }
    }
    report.line(std::string(paged ? "paged_decode " : "decode ") + name_of(shape.dtype) + " b" +
                    std::to_string(batch) + " h" + std::to_string(shape.query_heads) + "/" +
                    std::to_string(shape.kv_heads) + " d" + std::to_string(shape.head_dim) + " longest " +
                    std::to_string(longest) + (paged ? " block " + std::to_string(check.block_tokens) : "") +
                    (check.shared_blocks > 0 ? " shared" : "") + (check.tokens_outside_heads ? " nhd" : "") +
                    (check.deviation > 1 ? " large logits" : "") + " items " + std::to_string(plan.items()),
                worst, tolerance(shape.dtype));
}

std::vector<int> random_lengths(int batch, int most, std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::vector<int> lengths(static_cast<std::size_t>(batch));
    for (int& length : lengths) {
        length = 1 + static_cast<int>(generator() % static_cast<std::uint64_t>(most));
    }
    lengths.front() = 1;
    return lengths;
}

void check_decodes(bool quick, Random& random, Report& report) {
    const int most = quick ? 200 : 3000;
    for (const DType type : {DType::kBf16, DType::kFp16}) {
        for (const int d : {64, 128, 256}) {
            for (const auto& [query_heads, kv_heads] :
                 {std::pair{4, 4}, {8, 1}, {32, 2}, {64, 1}, {71, 1}, {128, 1}}) {
                if (quick && type == DType::kFp16 && query_heads != 8) continue;
                const DecodeShape shape{random_lengths(3, most, ++random.seed), query_heads, kv_heads, d,
                                        type};
                check_decode({.shape = shape}, random, report);
                check_decode({.shape = shape, .block_tokens = 16}, random, report);
            }
        }
    }
    const DecodeShape base{random_lengths(4, most, ++random.seed), 8, 2, 128, DType::kBf16};
    for (const int block : {8, 24, 32, 64, 128, 256}) {
        check_decode({.shape = base, .block_tokens = block}, random, report);
        check_decode({.shape = base, .block_tokens = block, .tokens_outside_heads = true}, random, report);
    }
    check_decode({.shape = {{1, 1, 1}, 8, 2, 128, DType::kBf16}, .block_tokens = 16}, random, report);
    check_decode({.shape = {{64, 128, 16, 17, 15}, 8, 8, 128, DType::kBf16}, .block_tokens = 16}, random,
                 report);
    check_decode({.shape = base, .block_tokens = 16, .shared_blocks = 3}, random, report);
    check_decode({.shape = base, .deviation = 300}, random, report);
    check_decode({.shape = base, .deviation = 300, .block_tokens = 16, .chunk_tokens = 64}, random, report);
    check_decode(
        {.shape = {{most, most - 1}, 16, 1, 128, DType::kFp16}, .deviation = 300, .chunk_tokens = 64}, random,
        report);
    check_decode(
        {.shape = {{most, most - 1}, 64, 1, 128, DType::kBf16}, .block_tokens = 16, .chunk_tokens = 128},
        random, report);
    if (!quick)
        check_decode({.shape = {{50000}, 8, 1, 128, DType::kBf16}, .block_tokens = 8}, random, report);
}

// Flash and standard attention share their tensors and their reference.
void check_attention(const AttentionShape& shape, float deviation, bool standard, Random& random,
                     Report& report) {
    const auto query_values = count_of({shape.batch, shape.query_heads, shape.query_tokens, shape.head_dim});
    const auto cache_values = count_of({shape.batch, shape.kv_heads, shape.context, shape.head_dim});
    const auto query = random.normal(query_values, shape.dtype, deviation);
    const auto keys = random.normal(cache_values, shape.dtype, 1);
    const auto values = random.normal(cache_values, shape.dtype, 1);
    const auto output = random.poisoned(query_values, shape.dtype);
    const float scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
    if (standard) {
        StandardAttention attention(shape);
        attention.run(query.data(), keys.data(), values.data(), output.data(), scale, random.stream);
        random.stream.synchronize();
    } else {
        flash_attention(shape, query.data(), keys.data(), values.data(), output.data(), scale, random.stream);
        random.stream.synchronize();
    }
    double worst = 0;
    for (int head = 0; head < shape.batch * shape.query_heads; ++head) {
        const int kv = head / shape.query_heads * shape.kv_heads +
                       head % shape.query_heads / (shape.query_heads / shape.kv_heads);
        const auto q_at = count_of({head, shape.query_tokens, shape.head_dim});
        const auto kv_at = count_of({kv, shape.context, shape.head_dim});
        const auto reference = attention_reference(
            read_matrix(query.data(), q_at, shape.query_tokens, shape.head_dim, shape.dtype),
            read_matrix(keys.data(), kv_at, shape.context, shape.head_dim, shape.dtype),
            read_matrix(values.data(), kv_at, shape.context, shape.head_dim, shape.dtype),
            static_cast<double>(scale), shape.causal);
        const auto out = read_matrix(output.data(), q_at, shape.query_tokens, shape.head_dim, shape.dtype);
        worst = std::max(worst, relative_error(out, reference));
    }
    report.line(std::string(standard ? "standard " : "flash ") + name_of(shape.dtype) + " b" +
                    std::to_string(shape.batch) + " h" + std::to_string(shape.query_heads) + "/" +
                    std::to_string(shape.kv_heads) + " d" + std::to_string(shape.head_dim) + " q" +
                    std::to_string(shape.query_tokens) + " c" + std::to_string(shape.context) +
                    (shape.causal ? " causal" : "") + (deviation > 1 ? " large logits" : ""),
                worst, tolerance(shape.dtype) * (standard ? 2 : 1));
}

void check_attentions(bool quick, Random& random, Report& report) {
    for (const DType type : {DType::kBf16, DType::kFp16}) {
        for (const int d : {64, 128, 256}) {
            if (quick && type == DType::kFp16 && d != 128) continue;
            for (const bool causal : {false, true}) {
                check_attention({1, 4, 2, 77, 77, d, type, causal}, 1, false, random, report);
                check_attention({2, 2, 1, 129, 321, d, type, causal}, 1, false, random, report);
                if (!quick) check_attention({1, 2, 2, 1000, 1000, d, type, causal}, 1, false, random, report);
                check_attention({1, 2, 2, 190, 190, d, type, causal}, 300, false, random, report);
                check_attention({1, 4, 2, 77, 77, d, type, causal}, 1, true, random, report);
            }
        }
    }
    check_attention({1, 1, 1, 1, 1, 128, DType::kBf16, true}, 1, false, random, report);
    check_attention({3, 2, 2, 1, 130, 128, DType::kBf16, true}, 1, false, random, report);
    check_attention({1, 1, 1, 1, 1, 128, DType::kFp16, true}, 1, true, random, report);
    if (!quick) check_attention({2, 4, 2, 300, 2500, 128, DType::kFp16, true}, 1, true, random, report);
}

// Logits as the kernel sees them are the reference's input, so that only the softmax itself is judged.
void check_softmax(int rows, int columns, int causal_rows, float deviation, DType type, Random& random,
                   Report& report) {
    const int stride = (columns + 7) / 8 * 8;
    const auto scores = random.normal(count_of({rows, stride}), type, deviation);
    const Eigen::MatrixXd logits = read_matrix(scores.data(), 0, rows, stride, type);
    softmax({rows, columns, stride, type, causal_rows}, scores.data(), random.stream);
    random.stream.synchronize();
    const Eigen::MatrixXd out = read_matrix(scores.data(), 0, rows, stride, type);
    Eigen::MatrixXd reference = Eigen::MatrixXd::Zero(rows, stride);
    for (int row = 0; row < rows; ++row) {
        const int seen = causal_rows > 0 ? row % causal_rows + columns - causal_rows + 1 : columns;
        const double largest = logits.row(row).head(seen).maxCoeff();
        reference.row(row).head(seen) = (logits.row(row).head(seen).array() - largest).exp();
        reference.row(row) /= reference.row(row).sum();
    }
    report.line(std::string("softmax ") + name_of(type) + " " + std::to_string(rows) + "x" +
                    std::to_string(columns) + (causal_rows > 0 ? " causal" : "") +
                    (deviation > 10 ? " large logits" : ""),
                relative_error(out, reference), tolerance(type));
}

void check_weight_stream(const WeightStreamShape& shape, Random& random, Report& report) {
    const auto x = random.normal(count_of({shape.batch, shape.inputs}), shape.dtype, 1);
    const auto w = random.normal(count_of({shape.outputs, shape.inputs}), shape.dtype, 1);
    const auto y = random.poisoned(count_of({shape.batch, shape.outputs}), DType::kBf16);
    const float alpha = 0.125f;
    const WeightStream layer(shape);
    double error = 0;
    const Eigen::MatrixXd reference =
        static_cast<double>(alpha) * read_matrix(x.data(), 0, shape.batch, shape.inputs, shape.dtype) *
        read_matrix(w.data(), 0, shape.outputs, shape.inputs, shape.dtype).transpose();
    for (int round = 0; round < 2; ++round) {
        poison(y.data(), y.bytes(), random.stream);
        layer.run(x.data(), w.data(), y.data(), alpha, random.stream);
        random.stream.synchronize();
        const auto out = read_matrix(y.data(), 0, shape.batch, shape.outputs, DType::kBf16);
        error = std::max(error, relative_error(out, reference));
    }
    report.line(std::string("weight_stream ") + name_of(shape.dtype) + " b" + std::to_string(shape.batch) +
                    " " + std::to_string(shape.inputs) + "x" + std::to_string(shape.outputs),
                error, 5e-3);
}

void check_references(Random& random, Report& report) {
    const int tokens = 333, d = 64;
    const auto values = random.normal(count_of({3, tokens, d}), DType::kFp32, 40);
    const auto part = [&](int i) {
        return read_matrix(values.data(), count_of({i, tokens, d}), tokens, d, DType::kFp32);
    };
    const auto two_pass = attention_reference(part(0), part(1), part(2), 1.0, false);
    const auto online = online_attention_reference(part(0), part(1), part(2), 1.0, 64);
    report.line("online softmax equals two-pass softmax, logits up to 1e5 (CPU, double)",
                relative_error(online, two_pass), 1e-12);
}

}  // namespace

int verify_all(bool quick, std::uint64_t seed) {
    Random random{{}, seed};
    Report report;
    check_references(random, report);
    check_decodes(quick, random, report);
    check_attentions(quick, random, report);
    for (const DType type : {DType::kFp16, DType::kBf16}) {
        for (const int columns : {1, 7, 100, 257, 1000, 1025, 2050, 5000, 9001, 20000, 33000}) {
            if (quick && columns > 1100) continue;
            check_softmax(9, columns, 0, 3, type, random, report);
            check_softmax(9, columns, 0, 300, type, random, report);
            if (columns >= 3) check_softmax(9, columns, 3, 3, type, random, report);
        }
    }
    for (const DType type : {DType::kBf16, DType::kFp8E4M3}) {
        if (type == DType::kFp8E4M3 && device_info().compute() < 89) continue;
        for (const int batch : {1, 5, 8, 9, 16, 20, 33, 64, 80, 129}) {
            const int k = quick ? 272 : 4112, n = quick ? 208 : 1040;
            if (type == DType::kFp8E4M3 || batch % 2 == 1 || !quick)
                check_weight_stream({batch, k, n, type}, random, report);
        }
        check_weight_stream({3, 8192, 200, type}, random, report);
        check_weight_stream({1, 16, 17, type}, random, report);
    }
    check_products(quick, random, report);
    std::printf("%d of %d checks failed\n", report.failures(), report.lines());
    return report.failures();
}

}  // namespace headroom::kernels
