// SPDX-License-Identifier: Apache-2.0
#include "standard_attention/standard_attention.h"

#include "common/error.h"

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
    product.columns = shape.context;
    product.depth = shape.head_dim;
    product.b_transposed = true;
    product.input = product.output = shape.dtype;
    product.batch = shape.batch * shape.kv_heads;
    product.c_row_stride = padded(shape.context);
    product.a_batch_stride = product.rows * shape.head_dim;
    product.b_batch_stride = std::int64_t{shape.context} * shape.head_dim;
    product.c_batch_stride = product.rows * padded(shape.context);
    return product;
}

MatmulShape value_product(const AttentionShape& shape) {
    MatmulShape product;
    product.rows = group_rows(shape);
    product.columns = shape.head_dim;
    product.depth = shape.context;
    product.b_transposed = false;
    product.input = product.output = shape.dtype;
    product.batch = shape.batch * shape.kv_heads;
    product.a_row_stride = padded(shape.context);
    product.a_batch_stride = product.rows * padded(shape.context);
    product.b_batch_stride = std::int64_t{shape.context} * shape.head_dim;
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
}

void StandardAttention::tune(const void* query, const void* keys, const void* values, void* output,
                             float scale) {
    key_product_.tune(query, keys, scores_.data(), scale);
    {
        const OwnedStream stream;
        normalise(stream);
        stream.synchronize();
    }
    value_product_.tune(scores_.data(), values, output, 1.0f);
}

void StandardAttention::run(const void* query, const void* keys, const void* values, void* output,
                            float scale, Stream stream) const {
    multiply_keys(query, keys, scale, stream);
    normalise(stream);
    multiply_values(values, output, stream);
}

void StandardAttention::multiply_keys(const void* query, const void* keys, float scale, Stream stream) const {
    key_product_.run(query, keys, scores_.data(), scale, stream);
}
void StandardAttention::normalise(Stream stream) const { softmax(softmax_, scores_.data(), stream); }
void StandardAttention::multiply_values(const void* values, void* output, Stream stream) const {
    value_product_.run(scores_.data(), values, output, 1.0f, stream);
}

}  // namespace headroom::kernels
