// SPDX-License-Identifier: Apache-2.0
#include "common/error.h"
#include "decode_attention/decode_attention.h"
#include "decode_attention/decode_limits.h"

#include <algorithm>
#include <utility>

namespace headroom::kernels {

namespace {

void require_valid(const DecodeShape& shape) {
    HEADROOM_REQUIRE(!shape.lengths.empty(), "decode attention: no sequences");
    HEADROOM_REQUIRE(*std::min_element(shape.lengths.begin(), shape.lengths.end()) >= 1,
                     "decode attention: a sequence has no tokens");
    HEADROOM_REQUIRE(shape.kv_heads > 0 && shape.query_heads % shape.kv_heads == 0,
                     "decode attention: query heads are not a multiple of the KV heads");
    HEADROOM_REQUIRE(shape.head_dim == 64 || shape.head_dim == 128 || shape.head_dim == 256,
                     "decode attention: the head dimension is not 64, 128 or 256");
    HEADROOM_REQUIRE(shape.dtype == DType::kBf16 || shape.dtype == DType::kFp16,
                     "decode attention: the type is not bf16 or fp16");
}

}  // namespace

DecodePlan::DecodePlan(DecodeShape shape, const DecodePlanOptions& options) : shape_(std::move(shape)) {
    require_valid(shape_);
    const auto& device = device_info();
    const DecodeSchedule schedule = decode_schedule(
        shape_, {device.multiprocessors, device.shared_bytes_per_multiprocessor}, options.chunk_tokens);
    slices_ = schedule.slices;
    rows_per_slice_ = schedule.rows_per_slice;
    chunk_tokens_ = schedule.chunk_tokens;
    items_ = static_cast<int>(schedule.items.size());
    merges_ = schedule.merges;
    most_parts_ = schedule.most_parts;
    std::vector<DecodeItem> split;
    for (const auto& item : schedule.items) {
        if (item.parts > 1 && item.part == 0) split.push_back(item);
    }
    HEADROOM_REQUIRE(most_parts_ <= kMaxParts, "decode attention: the chunk is too short");
    item_buffer_ = upload(schedule.items);
    if (merges_ > 0) merge_buffer_ = upload(split);
    const std::size_t rows =
        static_cast<std::size_t>(schedule.partials) * static_cast<std::size_t>(rows_per_slice_);
    output_buffer_ = DeviceBuffer(rows * static_cast<std::size_t>(shape_.head_dim) * sizeof(float));
    sum_buffer_ = DeviceBuffer(rows * sizeof(float));
}

}  // namespace headroom::kernels
