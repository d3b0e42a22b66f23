// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"
#include "common/dtype.h"

#include <cstdint>
#include <vector>

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

// Element strides of a cache; the head_dim values of one token and head are contiguous. Multiples of 64.
struct CacheStrides {
    std::int64_t outer = 0;  // from one sequence, or one block, to the next
    std::int64_t head = 0;
    std::int64_t token = 0;
};

// A contiguous cache: element (sequence, head, token, d) at outer*sequence + head*h + token*t + d.
struct ContiguousCache {
    const void* keys = nullptr;
    const void* values = nullptr;
    CacheStrides strides;
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

struct DecodePlanOptions {
    int chunk_tokens = 0;  // 0: chosen so that the device is filled
};

// How a batch is cut along the context. Made once for a set of lengths (host work, not part of a launch) and
// usable for any number of launches, one at a time: partial results and counters belong to the plan.
class DecodePlan {
  public:
    explicit DecodePlan(DecodeShape shape, const DecodePlanOptions& options = {});

    const DecodeShape& shape() const { return shape_; }
    int slices() const { return slices_; }                  // of a group, so that one has at most 64 heads
    int rows_per_slice() const { return rows_per_slice_; }  // query heads
    int items() const { return items_; }
    int chunk_tokens() const { return chunk_tokens_; }
    const DecodeItem* device_items() const { return item_buffer_.as<DecodeItem>(); }
    float* partial_outputs() const { return output_buffer_.as<float>(); }  // [partial][row][head_dim]
    float* partial_sums() const { return sum_buffer_.as<float>(); }        // [partial][row], log2 of the sum
    // [unit], zero between launches; null where a kernel of its own merges.
    int* counters() const { return merges_ > 0 ? nullptr : counter_buffer_.as<int>(); }
    // Units for that kernel: none where the last block of each unit merges.
    int merges() const { return merges_; }
    const DecodeItem* device_merges() const { return merge_buffer_.as<DecodeItem>(); }

  private:
    DecodeShape shape_;
    int slices_ = 1;
    int rows_per_slice_ = 1;
    int items_ = 0;
    int chunk_tokens_ = 0;
    int merges_ = 0;
    DeviceBuffer item_buffer_, merge_buffer_, output_buffer_, sum_buffer_, counter_buffer_;
};

// Enqueues one kernel, or a second that merges. `scale` multiplies the logits (1/sqrt(head_dim) as a rule).
void decode_attention(const DecodePlan& plan, const void* query, const ContiguousCache& cache, void* output,
                      float scale, Stream stream);

}  // namespace headroom::kernels
