// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/dtype.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headroom::kernels {

enum class CaseKind {
    kRead,
    kWrite,
    kCopy,
    kSoftmax,
    kStandardAttention,
    kFlashAttention,
    kDecodeAttention,
    kPagedDecodeAttention,
    kWeightStream,
    kMlp,
    kLoss,
};

const char* name_of(CaseKind op);

// One thing to run: an operator and its shape. Only the fields that the operator has are looked at.
struct Case {
    CaseKind op = CaseKind::kRead;
    DType dtype = DType::kBf16;
    std::size_t bytes = 0;  // read, write; copy: of each side
    // attention; softmax runs on batch * query_heads * query_tokens rows of `context`
    int batch = 1, query_heads = 1, kv_heads = 1, head_dim = 128;
    int query_tokens = 1, context = 1;
    bool causal = false;
    bool ragged = false;  // decode: lengths uniform in 1 .. 2 context - 1 instead of all `context`
    int block_tokens = 16;
    // weight_stream: (batch x inputs) times (inputs x outputs)
    int inputs = 0, outputs = 0;
    // mlp: tokens x hidden to `inner` and back; loss: tokens x hidden against `vocabulary` columns
    int tokens = 0, hidden = 0, inner = 0, vocabulary = 0;
    bool gated = false;  // mlp
    bool fused = false;  // nothing between the products leaves the chip but what the mapping says
};

// e.g. "paged_decode_attention bf16 b16 h32/8 d128 c8192 p16"
std::string describe(const Case& c);

// The lengths of a decode case: a pure function of the case.
std::vector<int> lengths_of(const Case& c);

// What the algorithm must do at the least: bytes that cross device memory if each input is read once and each
// output written once (standard attention: the scores written and read twice), and operations, 2 per
// multiply-add.
struct Work {
    double bytes = 0;
    double flop = 0;
};
Work work_of(const Case& c);

}  // namespace headroom::kernels
