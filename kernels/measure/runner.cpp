// SPDX-License-Identifier: Apache-2.0
#include "measure/runner.h"

#include "ceilings/ceilings.h"
#include "common/attention_reference.h"
#include "common/error.h"
#include "common/random.h"
#include "decode_attention/decode_attention.h"
#include "flash_attention/flash_attention.h"
#include "measure/host_check.h"
#include "paged_decode_attention/block_table.h"
#include "paged_decode_attention/paged_decode_attention.h"
#include "standard_attention/standard_attention.h"
#include "tiled_product/cross_entropy.h"
#include "tiled_product/feed_forward.h"
#include "weight_stream/weight_stream.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace headroom::kernels {

namespace {

// Hands out consecutive pieces of the pool.
class Carver {
  public:
    explicit Carver(const DataPool& pool)
        : next_(static_cast<char*>(pool.data())), end_(next_ + pool.bytes()) {}
    void* take(std::size_t bytes) {
        char* piece = next_;
        HEADROOM_REQUIRE(bytes <= static_cast<std::size_t>(end_ - next_),
                         "the case does not fit the data pool");
        next_ += (bytes + 1023) / 1024 * 1024;
        next_ = std::min(next_, end_);
        return piece;
    }
    std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }

  private:
    char* next_;
    char* end_;
};

char* at(void* base, std::size_t offset) { return static_cast<char*>(base) + offset; }

std::size_t product(std::initializer_list<int> factors) {
    std::size_t result = 1;
    for (const int factor : factors) result *= static_cast<std::size_t>(factor);
    return result;
}

PreparedCase prepare_transfer(const Case& c, const DataPool& pool) {
    PreparedCase prepared;
    prepared.rotation = rotation_for(c.bytes);
    const std::size_t copies = static_cast<std::size_t>(prepared.rotation);
    Carver carver(pool);
    void* source = carver.take(copies * c.bytes);
    // A write must not destroy the pool's random values.
    const bool writes = c.op != CaseKind::kRead;
    auto target = std::make_shared<DeviceBuffer>(writes ? copies * c.bytes : 16);
    const auto method = supports(ReadMethod::kBulkCopies) ? ReadMethod::kBulkCopies : ReadMethod::kLoads;
    prepared.launch = [=, bytes = c.bytes, op = c.op](Stream stream, int turn) {
        const std::size_t offset = static_cast<std::size_t>(turn) % copies * bytes;
        if (op == CaseKind::kRead)
            return read_memory(method, at(source, offset), bytes, target->as<unsigned>(), stream);
        if (op == CaseKind::kWrite) return write_memory(at(target->data(), offset), bytes, stream);
        copy_memory(at(target->data(), offset), at(source, offset), bytes, stream);
    };
    return prepared;
}

AttentionShape shape_of(const Case& c) {
    return {c.batch, c.query_heads, c.kv_heads, c.query_tokens, c.context, c.head_dim, c.dtype, c.causal};
}

struct AttentionOperands {
    std::size_t query_bytes, cache_bytes;
    void *query, *keys, *values;
    std::shared_ptr<DeviceBuffer> output;
};

AttentionOperands carve_attention(const Case& c, const DataPool& pool, std::size_t copies) {
    AttentionOperands o{};
    o.query_bytes = product({c.batch, c.query_heads, c.query_tokens, c.head_dim}) * size_of(c.dtype);
    o.cache_bytes = product({c.batch, c.kv_heads, c.context, c.head_dim}) * size_of(c.dtype);
    Carver carver(pool);
    o.query = carver.take(copies * o.query_bytes);
    o.keys = carver.take(copies * o.cache_bytes);
    o.values = carver.take(copies * o.cache_bytes);
    o.output = std::make_shared<DeviceBuffer>(o.query_bytes);
    return o;
}

PreparedCase prepare_flash(const Case& c, const DataPool& pool) {
    PreparedCase prepared;
    prepared.rotation = rotation_for(static_cast<std::size_t>(work_of(c).bytes));
    const auto copies = static_cast<std::size_t>(prepared.rotation);
    const auto o = carve_attention(c, pool, copies);
    const float scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
    prepared.launch = [=, shape = shape_of(c)](Stream stream, int turn) {
        const std::size_t copy = static_cast<std::size_t>(turn) % copies;
        flash_attention(shape, at(o.query, copy * o.query_bytes), at(o.keys, copy * o.cache_bytes),
                        at(o.values, copy * o.cache_bytes), o.output->data(), scale, stream);
    };
    return prepared;
}

PreparedCase prepare_standard(const Case& c, const DataPool& pool) {
    PreparedCase prepared;
    const auto o = carve_attention(c, pool, 1);
    const float scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
    auto attention = std::make_shared<StandardAttention>(shape_of(c));
    attention->tune(o.query, o.keys, o.values, o.output->data(), scale);
    prepared.launch = [=](Stream stream, int) {
        attention->run(o.query, o.keys, o.values, o.output->data(), scale, stream);
    };
    return prepared;
}

PreparedCase prepare_softmax(const Case& c, const DataPool&) {
    SoftmaxShape shape;
    shape.rows = static_cast<std::int64_t>(product({c.batch, c.query_heads, c.query_tokens}));
    shape.columns = c.context;
    shape.row_stride = (std::int64_t{c.context} + 7) / 8 * 8;
    shape.dtype = c.dtype;
    shape.causal_rows = c.causal ? c.query_tokens : 0;
    const auto values = static_cast<std::size_t>(shape.rows * shape.row_stride);
    PreparedCase prepared;
    prepared.rotation = rotation_for(values * size_of(c.dtype));
    const auto copies = static_cast<std::size_t>(prepared.rotation);
    auto scores = std::make_shared<DeviceBuffer>(copies * values * size_of(c.dtype));
    const OwnedStream stream;
    fill_normal(scores->data(), copies * values, c.dtype, 1.0f, 17, stream);
    stream.synchronize();
    prepared.launch = [=, bytes = values * size_of(c.dtype)](Stream s, int turn) {
        softmax(shape, at(scores->data(), static_cast<std::size_t>(turn) % copies * bytes), s);
    };
    return prepared;
}

DecodeShape decode_shape_of(const Case& c) {
    return {lengths_of(c), c.query_heads, c.kv_heads, c.head_dim, c.dtype};
}

// Operands that a sample of a decode's output is checked against.
struct DecodeOperands {
    void* query = nullptr;
    std::size_t query_bytes = 0;
    std::shared_ptr<DeviceBuffer> output;
};

DecodeOperands carve_decode(const Case& c, Carver& carver) {
    DecodeOperands o;
    o.query_bytes = product({c.batch, c.query_heads, c.head_dim}) * size_of(c.dtype);
    o.query = carver.take(o.query_bytes);
    o.output = std::make_shared<DeviceBuffer>(o.query_bytes);
    return o;
}

PreparedCase prepare_decode(const Case& c, const DataPool& pool, const DecodePlanOptions& options) {
    PreparedCase prepared;
    Carver carver(pool);
    const auto o = carve_decode(c, carver);
    auto plan = std::make_shared<DecodePlan>(decode_shape_of(c), options);
    const auto& lengths = plan->shape().lengths;
    const int longest = *std::max_element(lengths.begin(), lengths.end());
    const std::size_t sequence = product({c.kv_heads, longest, c.head_dim});
    const std::size_t bytes = sequence * lengths.size() * size_of(c.dtype);
    const std::size_t room = carver.left() / 2 / (bytes + 1024);
    prepared.rotation = std::min(rotation_for(2 * bytes), static_cast<int>(std::max<std::size_t>(room, 1)));
    const auto copies = static_cast<std::size_t>(prepared.rotation);
    void* keys = carver.take(copies * bytes);
    void* values = carver.take(copies * bytes);
    const CacheStrides strides{static_cast<std::int64_t>(sequence), std::int64_t{longest} * c.head_dim,
                               c.head_dim};
    const float scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
    prepared.launch = [=](Stream stream, int turn) {
        const std::size_t offset = static_cast<std::size_t>(turn) % copies * bytes;
        decode_attention(*plan, o.query, {at(keys, offset), at(values, offset), strides}, o.output->data(),
                         scale, stream);
    };
    prepared.sample_error = [=] {
        const OwnedStream stream;
        poison(o.output->data(), o.query_bytes, stream);
        prepared.launch(stream, 0);
        stream.synchronize();
        return decode_sample_error(plan->shape(), o.query, {keys, values, strides, nullptr, 0, 0},
                                   o.output->data(), scale);
    };
    return prepared;
}

PreparedCase prepare_paged(const Case& c, const DataPool& pool, const DecodePlanOptions& options) {
    PreparedCase prepared;
    Carver carver(pool);
    const auto o = carve_decode(c, carver);
    auto plan = std::make_shared<DecodePlan>(decode_shape_of(c), options);
    const auto& lengths = plan->shape().lengths;
    const std::size_t block_values = product({c.kv_heads, c.block_tokens, c.head_dim});
    const std::size_t block_bytes = block_values * size_of(c.dtype);
    // A block's keys and values lie side by side, as serving engines have them.
    const auto pool_blocks = std::min<std::size_t>(carver.left() / (2 * block_bytes), 1u << 24);
    const auto needed = static_cast<std::size_t>(blocks_needed(lengths, c.block_tokens, 0));
    HEADROOM_REQUIRE(needed <= pool_blocks, "the case does not fit the data pool");
    prepared.rotation =
        std::min(rotation_for(2 * needed * block_bytes), static_cast<int>(pool_blocks / needed));
    std::vector<int> all;
    for (int copy = 0; copy < prepared.rotation; ++copy)
        all.insert(all.end(), lengths.begin(), lengths.end());
    const auto table = make_block_table(all, c.block_tokens, static_cast<int>(pool_blocks), 0, 1, 4242);
    auto entries = std::make_shared<DeviceBuffer>(upload(table.entries));
    void* keys = carver.take(2 * block_bytes * pool_blocks);
    void* values = at(keys, block_bytes);
    const CacheStrides strides{2 * static_cast<std::int64_t>(block_values),
                               std::int64_t{c.block_tokens} * c.head_dim, c.head_dim};
    const float scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
    const auto copies = static_cast<std::size_t>(prepared.rotation);
    const auto view = [=, block_tokens = c.block_tokens](std::size_t copy) {
        return PagedCache{
            keys,         values,
            strides,      entries->as<int>() + copy * lengths.size() * static_cast<std::size_t>(table.stride),
            table.stride, block_tokens};
    };
    prepared.launch = [=](Stream stream, int turn) {
        paged_decode_attention(*plan, o.query, view(static_cast<std::size_t>(turn) % copies),
                               o.output->data(), scale, stream);
    };
    prepared.sample_error = [=] {
        const OwnedStream stream;
        poison(o.output->data(), o.query_bytes, stream);
        prepared.launch(stream, 0);
        stream.synchronize();
        return decode_sample_error(plan->shape(), o.query, view(0), o.output->data(), scale);
    };
    return prepared;
}

PreparedCase prepare_weights(const Case& c, const DataPool& pool) {
    PreparedCase prepared;
    const WeightStreamShape shape{c.batch, c.inputs, c.outputs, c.dtype};
    const std::size_t weight_bytes = product({c.inputs, c.outputs}) * size_of(c.dtype);
    prepared.rotation = rotation_for(weight_bytes);
    const auto copies = static_cast<std::size_t>(prepared.rotation);
    Carver carver(pool);
    void* x = carver.take(product({c.batch, c.inputs}) * size_of(c.dtype));
    void* w = carver.take(copies * weight_bytes);
    auto y = std::make_shared<DeviceBuffer>(product({c.batch, c.outputs}) * 2);
    auto layer = std::make_shared<WeightStream>(shape);
    layer->tune(x, w, y->data(), 1.0f);
    prepared.launch = [=](Stream stream, int turn) {
        layer->run(x, at(w, static_cast<std::size_t>(turn) % copies * weight_bytes), y->data(), 1.0f, stream);
    };
    return prepared;
}

PreparedCase prepare_mlp(const Case& c, const DataPool& pool) {
    HEADROOM_REQUIRE(c.dtype == DType::kBf16, "feed-forward layer: the type is not bf16");
    Carver carver(pool);
    const std::size_t x_bytes = product({c.tokens, c.hidden}) * 2;
    const std::size_t weight_bytes = product({c.hidden, c.inner}) * 2;
    const void* x = carver.take(x_bytes);
    const FeedForward::Weights weights{carver.take(weight_bytes), carver.take(weight_bytes),
                                       carver.take(weight_bytes)};
    auto y = std::make_shared<DeviceBuffer>(x_bytes);
    auto layer = std::make_shared<FeedForward>(c.tokens, c.hidden, c.inner, c.gated, c.fused);
    PreparedCase prepared;
    prepared.launch = [=](Stream stream, int) { layer->run(x, weights, y->data(), stream); };
    return prepared;
}

PreparedCase prepare_loss(const Case& c, const DataPool& pool) {
    HEADROOM_REQUIRE(c.dtype == DType::kBf16, "cross entropy: the type is not bf16");
    Carver carver(pool);
    const void* x = carver.take(product({c.tokens, c.hidden}) * 2);
    const void* w = carver.take(product({c.vocabulary, c.hidden}) * 2);
    std::mt19937 generator(11);
    std::vector<int> targets(static_cast<std::size_t>(c.tokens));
    for (int& target : targets) target = static_cast<int>(generator() % static_cast<unsigned>(c.vocabulary));
    auto on_device = std::make_shared<DeviceBuffer>(upload(targets));
    auto losses = std::make_shared<DeviceBuffer>(targets.size() * sizeof(float));
    auto loss = std::make_shared<CrossEntropy>(c.tokens, c.hidden, c.vocabulary, c.fused);
    PreparedCase prepared;
    prepared.launch = [=](Stream stream, int) {
        loss->run(x, w, on_device->as<int>(), losses->as<float>(), stream);
    };
    return prepared;
}

}  // namespace

DataPool::DataPool(std::size_t bytes) {
    const auto most = static_cast<std::size_t>(0.4 * static_cast<double>(device_info().memory_bytes));
    if (bytes == 0) bytes = std::min<std::size_t>(most, std::size_t{36'000'000'000});
    buffer_ = DeviceBuffer(bytes / 1024 * 1024);
}

void DataPool::fill(DType type) {
    if (filled_ && type_ == type) return;
    const OwnedStream stream;
    fill_normal(buffer_.data(), buffer_.bytes() / size_of(type), type, 1.0f, 20261129, stream);
    stream.synchronize();
    filled_ = true;
    type_ = type;
}

PreparedCase prepare(const Case& c, DataPool& pool, const DecodePlanOptions& plan) {
    pool.fill(c.dtype);
    switch (c.op) {
        case CaseKind::kRead:
        case CaseKind::kWrite:
        case CaseKind::kCopy:
            return prepare_transfer(c, pool);
        case CaseKind::kSoftmax:
            return prepare_softmax(c, pool);
        case CaseKind::kStandardAttention:
            return prepare_standard(c, pool);
        case CaseKind::kFlashAttention:
            return prepare_flash(c, pool);
        case CaseKind::kDecodeAttention:
            return prepare_decode(c, pool, plan);
        case CaseKind::kPagedDecodeAttention:
            return prepare_paged(c, pool, plan);
        case CaseKind::kWeightStream:
            return prepare_weights(c, pool);
        case CaseKind::kMlp:
            return prepare_mlp(c, pool);
        case CaseKind::kLoss:
            return prepare_loss(c, pool);
    }
    return {};
}

}  // namespace headroom::kernels
