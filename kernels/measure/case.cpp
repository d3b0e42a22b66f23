// SPDX-License-Identifier: Apache-2.0
#include "measure/case.h"

#include "ops/work.h"

#include <algorithm>
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
        case CaseKind::kMlp:
            return "mlp";
        case CaseKind::kLoss:
            return "loss";
    }
    return "?";
}

namespace {

std::string heads(const Case& c) {
    return " b" + std::to_string(c.batch) + " h" + std::to_string(c.query_heads) + "/" +
           std::to_string(c.kv_heads) + " d" + std::to_string(c.head_dim);
}

ElementType element_type(DType type) {
    switch (type) {
        case DType::kBf16:
            return ElementType::bf16;
        case DType::kFp16:
            return ElementType::fp16;
        case DType::kFp8E4M3:
            return ElementType::fp8;
        case DType::kInt8:
            return ElementType::int8;
        case DType::kFp32:
            return ElementType::fp32;
    }
    return ElementType::bf16;
}

Work counted(const headroom::Work& work) { return {hbm_bytes(work).in(byte), work.flop.in(flop)}; }

headroom::Attention attention(const Case& c) {
    headroom::Attention op;
    op.heads = c.query_heads;
    op.kv_heads = c.kv_heads;
    op.key_dim = op.value_dim = c.head_dim;
    op.kv_per_token =
        Bytes(2.0 * c.kv_heads * c.head_dim * static_cast<double>(size_of(c.dtype))) / Tokens(1);
    op.stores_kv = false;  // the cache is there already
    op.compute = op.activation = element_type(c.dtype);
    return op;
}

Work prefill_work(const Case& c) {
    auto op = attention(c);
    op.groups = {{.sequences = double(c.batch),
                  .fresh = double(c.query_tokens),
                  .past = double(c.context - c.query_tokens)}};
    Work work = counted(headroom::work(op));
    if (!c.causal) work.flop = 4.0 * c.batch * c.query_heads * c.query_tokens * c.context * c.head_dim;
    return work;
}

// Three kernels that do not skip the causal half: the scores are written by the first, read and written by
// the second and read by the third.
Work standard_work(const Case& c) {
    Case full = c;
    full.causal = false;
    Work work = prefill_work(full);
    work.bytes +=
        4.0 * static_cast<double>(size_of(c.dtype)) * c.batch * c.query_heads * c.query_tokens * c.context;
    return work;
}

Work decode_work(const Case& c) {
    auto op = attention(c);
    double tokens = 0;
    for (const int length : lengths_of(c)) {
        op.groups.push_back({.sequences = 1, .fresh = 1, .past = double(length - 1)});
        tokens += length;
    }
    Work work = counted(headroom::work(op));
    if (c.op == CaseKind::kPagedDecodeAttention)
        work.bytes += 4.0 * tokens / c.block_tokens;  // the block table
    return work;
}

Work product_work(const Case& c) {
    headroom::Matmul op;
    op.rows = c.batch;
    op.inputs = c.inputs;
    op.outputs = c.outputs;
    op.weights = {.element = element_type(c.dtype)};
    op.activation = element_type(c.dtype);
    Work work = counted(headroom::work(op));
    work.bytes +=
        (2.0 - static_cast<double>(size_of(c.dtype))) * c.batch * c.outputs;  // y has 16 bits in any case
    return work;
}

Work linear(const Case& c, int inputs, int outputs) {
    Case product = c;
    product.batch = c.tokens;
    product.inputs = inputs;
    product.outputs = outputs;
    return product_work(product);
}

Work operator+(const Work& a, const Work& b) { return {a.bytes + b.bytes, a.flop + b.flop}; }

// A gated layer that is fused makes both halves from one reading of x and writes them joined.
Work mlp_work(const Case& c) {
    const double inner_bytes = 2.0 * c.tokens * c.inner;
    const Work down = linear(c, c.inner, c.hidden);
    Work up = linear(c, c.hidden, c.gated ? 2 * c.inner : c.inner);
    if (c.fused) {
        if (c.gated) up.bytes -= inner_bytes;
        return up + down;
    }
    if (c.gated) up = linear(c, c.hidden, c.inner) + linear(c, c.hidden, c.inner);
    return up + Work{(c.gated ? 3 : 2) * inner_bytes, 0} + down;
}

// Unfused, logits are written and read. A target and a loss are four bytes each.
Work loss_work(const Case& c) {
    Work work = linear(c, c.hidden, c.vocabulary);
    work.bytes += (c.fused ? -2.0 : 2.0) * c.tokens * c.vocabulary + 8.0 * c.tokens;
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
        case CaseKind::kMlp:
        case CaseKind::kLoss: {
            const bool loss = c.op == CaseKind::kLoss;
            text += name_of(c.dtype) + (" t" + std::to_string(c.tokens)) + " " + std::to_string(c.hidden) +
                    "x" + std::to_string(loss ? c.vocabulary : c.inner);
            return text + (!loss && c.gated ? " gated" : "") + (c.fused ? " fused" : " unfused");
        }
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
            return standard_work(c);
        case CaseKind::kFlashAttention:
            return prefill_work(c);
        case CaseKind::kDecodeAttention:
        case CaseKind::kPagedDecodeAttention:
            return decode_work(c);
        case CaseKind::kWeightStream:
            return product_work(c);
        case CaseKind::kMlp:
            return mlp_work(c);
        case CaseKind::kLoss:
            return loss_work(c);
    }
    return {};
}

}  // namespace headroom::kernels
