// SPDX-License-Identifier: Apache-2.0
#include "measure/case.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace headroom::kernels {

const char* name_of(CaseKind op) {
    switch (op) {
        case CaseKind::kRead:
            return "read";
        case CaseKind::kWrite:
            return "write";
        case CaseKind::kCopy:
            return "copy";
        case CaseKind::kSoftmax:
            return "softmax";
        case CaseKind::kStandardAttention:
            return "standard_attention";
        case CaseKind::kFlashAttention:
            return "flash_attention";
        case CaseKind::kDecodeAttention:
            return "decode_attention";
        case CaseKind::kPagedDecodeAttention:
            return "paged_decode_attention";
        case CaseKind::kWeightStream:
            return "weight_stream";
    }
    return "?";
}

namespace {

std::string heads(const Case& c) {
    return " b" + std::to_string(c.batch) + " h" + std::to_string(c.query_heads) + "/" +
           std::to_string(c.kv_heads) + " d" + std::to_string(c.head_dim);
}

// Query-key pairs that one head of one sequence computes.
double pairs(const Case& c) {
    const double queries = c.query_tokens, context = c.context;
    return c.causal ? queries * (context - queries) + queries * (queries + 1) / 2 : queries * context;
}

Work attention_work(const Case& c) {
    const double element = static_cast<double>(size_of(c.dtype));
    const double queries = 1.0 * c.batch * c.query_heads * c.query_tokens * c.head_dim;
    const double cache = 2.0 * c.batch * c.kv_heads * c.context * c.head_dim;
    Work work;
    work.bytes = element * (2 * queries + cache);
    work.flop = 4.0 * c.batch * c.query_heads * pairs(c) * c.head_dim;
    if (c.op == CaseKind::kStandardAttention) {
        work.bytes += 4 * element * c.batch * c.query_heads * c.query_tokens * c.context;
        work.flop = 4.0 * c.batch * c.query_heads * c.query_tokens * c.context * c.head_dim;
    }
    return work;
}

Work decode_work(const Case& c) {
    const auto lengths = lengths_of(c);
    const double tokens = std::accumulate(lengths.begin(), lengths.end(), 0.0);
    const double element = static_cast<double>(size_of(c.dtype));
    Work work;
    work.bytes =
        element * (2.0 * tokens * c.kv_heads * c.head_dim + 2.0 * c.batch * c.query_heads * c.head_dim);
    work.flop = 4.0 * tokens * c.query_heads * c.head_dim;
    if (c.op == CaseKind::kPagedDecodeAttention) work.bytes += 4.0 * tokens / c.block_tokens;
    return work;
}

}  // namespace

std::string describe(const Case& c) {
    std::string text = std::string(name_of(c.op)) + " ";
    switch (c.op) {
        case CaseKind::kRead:
        case CaseKind::kWrite:
        case CaseKind::kCopy:
            return text + std::to_string(c.bytes);
        case CaseKind::kSoftmax:
        case CaseKind::kStandardAttention:
        case CaseKind::kFlashAttention:
            text += name_of(c.dtype) + heads(c) + " q" + std::to_string(c.query_tokens) + " c" +
                    std::to_string(c.context);
            return text + (c.causal ? " causal" : "");
        case CaseKind::kDecodeAttention:
        case CaseKind::kPagedDecodeAttention:
            text +=
                name_of(c.dtype) + heads(c) + " c" + std::to_string(c.context) + (c.ragged ? " ragged" : "");
            return c.op == CaseKind::kDecodeAttention ? text : text + " p" + std::to_string(c.block_tokens);
        case CaseKind::kWeightStream:
            return text + name_of(c.dtype) + " b" + std::to_string(c.batch) + " " + std::to_string(c.inputs) +
                   "x" + std::to_string(c.outputs);
    }
    return text;
}

std::vector<int> lengths_of(const Case& c) {
    std::vector<int> lengths(static_cast<std::size_t>(c.batch), c.context);
    if (!c.ragged) return lengths;
    std::mt19937 generator(static_cast<unsigned>(c.batch * 7919 + c.context));
    for (int& length : lengths) {
        length = 1 + static_cast<int>(generator() % static_cast<unsigned>(std::max(1, 2 * c.context - 1)));
    }
    return lengths;
}

Work work_of(const Case& c) {
    switch (c.op) {
        case CaseKind::kRead:
        case CaseKind::kWrite:
            return {static_cast<double>(c.bytes), 0};
        case CaseKind::kCopy:
            return {2.0 * static_cast<double>(c.bytes), 0};
        case CaseKind::kSoftmax:
            return {2.0 * static_cast<double>(size_of(c.dtype)) * c.batch * c.query_heads * c.query_tokens *
                        c.context,
                    0};
        case CaseKind::kStandardAttention:
        case CaseKind::kFlashAttention:
            return attention_work(c);
        case CaseKind::kDecodeAttention:
        case CaseKind::kPagedDecodeAttention:
            return decode_work(c);
        case CaseKind::kWeightStream: {
            const double element = static_cast<double>(size_of(c.dtype));
            return {
                element * (1.0 * c.inputs * c.outputs + 1.0 * c.batch * c.inputs) + 2.0 * c.batch * c.outputs,
                2.0 * c.batch * c.inputs * c.outputs};
        }
    }
    return {};
}

}  // namespace headroom::kernels
