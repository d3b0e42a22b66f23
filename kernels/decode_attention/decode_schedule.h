// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/dtype.h"

#include <cstddef>
#include <vector>

// How a decode batch is cut along the context: pure host code, so that the model of these kernels walks the
// very items that they run, where there is no device as well.

namespace headroom::kernels {

// One new query per sequence against that sequence's cached keys and values.
// query and output: [sequence][query_head][head_dim], dense.
struct DecodeShape {
    std::vector<int> lengths;  // cached tokens of each sequence, at least 1
    int query_heads = 0;
    int kv_heads = 0;            // divides query_heads
    int head_dim = 0;            // 64, 128 or 256
    DType dtype = DType::kBf16;  // bf16 or fp16

    int group() const { return query_heads / kv_heads; }
};

// A part of one sequence's context for one group of query heads: what one thread block works on.
struct alignas(32) DecodeItem {
    int sequence = 0;
    int head_slice = 0;  // kv_head * slices + slice
    int begin = 0;       // tokens, a multiple of 16
    int end = 0;
    int unit = 0;           // index of (sequence, head_slice): its counter
    int part = 0;           // this item among the unit's parts
    int parts = 1;          // 1: the item writes the output itself
    int first_partial = 0;  // where the unit's partial results begin
};

// What decides how many blocks run at once.
struct DecodeRoom {
    int multiprocessors = 0;
    std::size_t shared_bytes_per_multiprocessor = 0;
};

struct DecodeSchedule {
    int slices = 1;          // of a group, so that one has at most kMaxRows heads
    int rows_per_slice = 1;  // query heads
    int resident = 1;        // blocks that run at once on the whole device
    int chunk_tokens = 0;
    std::vector<DecodeItem> items;  // in launch order
    int partials = 0;               // items of units that have several
    int merges = 0;                 // such units: a second kernel merges each
    int most_parts = 1;             // of one unit
};

// `chunk_tokens` 0: chosen so that the device is filled. The shape has at least one sequence and no empty
// one, and its query heads are a multiple of its KV heads.
DecodeSchedule decode_schedule(const DecodeShape& shape, const DecodeRoom& room, int chunk_tokens = 0);

}  // namespace headroom::kernels
