// SPDX-License-Identifier: Apache-2.0
#include "standard_attention/standard_attention.h"

#include "common/error.h"

#include <cuda_runtime.h>

namespace headroom::kernels {

namespace {

std::int64_t padded(int columns) { return (std::int64_t{columns} + 7) / 8 * 8; }

// The query heads of a group lie one after another, so a group is one product with group * query_tokens rows.
std::int64_t group_rows(const AttentionShape& shape) {
    return std::int64_t{shape.query_heads / shape.kv_heads} * shape.query_tokens;
}

MatmulShape key_product(const AttentionShape& shape) {
    MatmulShape product;
    product.rows = group_rows(shape);
    product.columns = padded(shape.context);
    product.depth = shape.head_dim;
    product.b_transposed = true;
    product.input = product.output = shape.dtype;
    product.batch = shape.batch * shape.kv_heads;
    product.a_batch_stride = product.rows * shape.head_dim;
    product.b_batch_stride = padded(shape.context) * shape.head_dim;
    product.c_batch_stride = product.rows * padded(shape.context);
    return product;
}

MatmulShape value_product(const AttentionShape& shape) {
    MatmulShape product;
    product.rows = group_rows(shape);
    product.columns = shape.head_dim;
    product.depth = padded(shape.context);
    product.b_transposed = false;
    product.input = product.output = shape.dtype;
    product.batch = shape.batch * shape.kv_heads;
    product.a_batch_stride = product.rows * padded(shape.context);
    product.b_batch_stride = padded(shape.context) * shape.head_dim;
    product.c_batch_stride = product.rows * shape.head_dim;
    return product;
}

SoftmaxShape score_rows(const AttentionShape& shape) {
    return {std::int64_t{shape.batch} * shape.query_heads * shape.query_tokens, shape.context,
            padded(shape.context), shape.dtype, shape.causal ? shape.query_tokens : 0};
}

}  // namespace

StandardAttention::StandardAttention(const AttentionShape& shape)
    : shape_(shape),
      softmax_(score_rows(shape)),
      scores_(static_cast<std::size_t>(softmax_.rows * softmax_.row_stride) * size_of(shape.dtype)),
      key_product_(key_product(shape)),
      value_product_(value_product(shape)) {
    HEADROOM_REQUIRE(shape.head_dim % 8 == 0,
                     "standard attention: the head dimension is not a multiple of 8");
    if (padded(shape.context) == shape.context) return;
    const auto rows =
        static_cast<std::size_t>(std::int64_t{shape.batch} * shape.kv_heads * padded(shape.context));
    for (DeviceBuffer* buffer : {&padded_keys_, &padded_values_}) {
        *buffer = DeviceBuffer(rows * static_cast<std::size_t>(shape.head_dim) * size_of(shape.dtype));
        HEADROOM_CUDA(cudaMemset(buffer->data(), 0, buffer->bytes()));
    }
}

void StandardAttention::tune(const void* query, const void* keys, const void* values, void* output,
                             float scale) {
    const OwnedStream stream;
    const void* all_keys = with_whole_rows(padded_keys_, keys, stream);
    const void* all_values = with_whole_rows(padded_values_, values, stream);
    stream.synchronize();
    key_product_.tune(query, all_keys, scores_.data(), scale);
    normalise(stream);
    stream.synchronize();
    value_product_.tune(scores_.data(), all_values, output, 1.0f);
}

void StandardAttention::run(const void* query, const void* keys, const void* values, void* output,
                            float scale, Stream stream) const {
    key_product_.run(query, with_whole_rows(padded_keys_, keys, stream), scores_.data(), scale, stream);
    normalise(stream);
    value_product_.run(scores_.data(), with_whole_rows(padded_values_, values, stream), output, 1.0f, stream);
}

const void* StandardAttention::with_whole_rows(const DeviceBuffer& padded_rows, const void* source,
                                               Stream stream) const {
    if (padded_rows.bytes() == 0) return source;
    const std::size_t row = static_cast<std::size_t>(shape_.head_dim) * size_of(shape_.dtype);
    const std::size_t width = static_cast<std::size_t>(shape_.context) * row;
    HEADROOM_CUDA(cudaMemcpy2DAsync(
        padded_rows.data(), static_cast<std::size_t>(padded(shape_.context)) * row, source, width, width,
        static_cast<std::size_t>(shape_.batch) * static_cast<std::size_t>(shape_.kv_heads),
        cudaMemcpyDeviceToDevice, stream));
    return padded_rows.data();
}

void StandardAttention::normalise(Stream stream) const { softmax(softmax_, scores_.data(), stream); }

}  // namespace headroom::kernels
