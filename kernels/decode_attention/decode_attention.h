// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/device.h"
#include "decode_attention/decode_schedule.h"

#include <cstdint>
#include <vector>

namespace headroom::kernels {

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

struct DecodePlanOptions {
    int chunk_tokens = 0;  // 0: chosen so that the device is filled
};

// How a batch is cut along the context. Made once for a set of lengths (host work, not part of a launch) and
// usable for any number of launches, one at a time: partial results belong to the plan.
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
    int merges() const { return merges_; }          // units of several parts, which a second kernel merges
    int most_parts() const { return most_parts_; }  // of one unit
    const DecodeItem* device_merges() const { return merge_buffer_.as<DecodeItem>(); }

  private:
    DecodeShape shape_;
    int slices_ = 1;
    int rows_per_slice_ = 1;
    int items_ = 0;
    int chunk_tokens_ = 0;
    int merges_ = 0;
    int most_parts_ = 1;
    DeviceBuffer item_buffer_, merge_buffer_, output_buffer_, sum_buffer_;
};

// Enqueues one kernel, or a second that merges. `scale` multiplies the logits (1/sqrt(head_dim) as a rule).
void decode_attention(const DecodePlan& plan, const void* query, const ContiguousCache& cache, void* output,
                      float scale, Stream stream);

}  // namespace headroom::kernels
