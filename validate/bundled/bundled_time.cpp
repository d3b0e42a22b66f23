// SPDX-License-Identifier: Apache-2.0
#include "validate/bundled/bundled_time.h"

#include "decode_attention/decode_limits.h"
#include "flash_attention/flash_tile.h"
#include "perf/product_time.h"
#include "validate/bundled/block_schedule.h"
#include "weight_stream/stream_schedule.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

using kernels::Case;
using kernels::CaseKind;
using kernels::DType;

constexpr double kUnlimited = 1e30;

bool is_decode(CaseKind op) {
    return op == CaseKind::kDecodeAttention || op == CaseKind::kPagedDecodeAttention;
}

double bytes_per_s(double share, const Ceilings& c) { return share * c.peaks.memory.base(); }

double transfer_s(double bytes, const BundledTransfer& t, const Ceilings& c) {
    return t.launch.base() + bytes / bytes_per_s(t.memory, c);
}

double decode_s(const Case& c, const kernels::DecodeSchedule& schedule, const Ceilings& ceilings) {
    const BundledDecode& d = ceilings.bundled.decode;
    constexpr int kStep = 64;  // tokens: 16 to each of four warps
    constexpr int kRowsOfWarp = 16;
    const double width = c.head_dim / 128.0;
    const double token = 2.0 * c.head_dim * 2;  // a key and a value of two-byte numbers
    const double on_the_way =
        (kernels::decode_stages(c.head_dim) - 1) * kernels::kDecodeWarps * kernels::kSlotTokens * token;
    // Up to 16 heads each warp takes a quarter of the tokens; of more, it takes all tokens for its own 16.
    const bool shared = schedule.rows_per_slice > kRowsOfWarp;
    const double arithmetic = shared ? (kernels::kDecodeWarps * d.chain + width * d.wide).base()
                                     : (d.chain + width * d.narrow).base();
    const double step = std::hypot(kStep * token / on_the_way * d.latency.base(), arithmetic);
    std::vector<double> work;
    work.reserve(schedule.items.size());
    const double partial_bytes = 4.0 * c.head_dim * schedule.rows_per_slice * schedule.partials;
    for (const kernels::DecodeItem& item : schedule.items) {
        const auto whole = (item.end - item.begin + kStep - 1) / kStep * kStep;
        work.push_back(whole * token);
    }
    BlockMachine machine;
    machine.sms = ceilings.peaks.sms;
    machine.slots = schedule.resident / ceilings.peaks.sms;
    // Twice as wide heads cost four times as much: their rows outgrow the registers.
    machine.start_s =
        (d.start + width * width * std::min(schedule.rows_per_slice, kRowsOfWarp) * d.row).base();
    machine.block = kStep * token / step;
    machine.sm = d.sm.base();
    machine.device = bytes_per_s(d.memory, ceilings);
    if (c.op == CaseKind::kPagedDecodeAttention) machine.device *= 1 - d.page * 16 / c.block_tokens;
    double time = d.launch.base() + makespan(std::move(work), d.jitter, machine);
    if (schedule.merges > 0) {
        const int trips = kernels::merge_trips(c.head_dim, schedule.most_parts);
        time += (d.merge + trips * d.trip).base() + partial_bytes / d.part_rate.base();
    }
    return time;
}

struct Tile {
    int rows, tokens, per_sm;
};

template <int D>
Tile tile_of() {
    using T = kernels::FlashTile<D, true>;
    return {T::kRows, T::kTokens, T::kBlocks};
}

double flash_s(const Case& c, const Ceilings& ceilings) {
    const BundledFlash& f = ceilings.bundled.flash;
    const bool narrow = c.head_dim <= 64, wide = c.head_dim > 128;
    const Tile tile = narrow ? tile_of<64>() : wide ? tile_of<256>() : tile_of<128>();
    const double share = narrow ? f.matrix64 : wide ? f.matrix256 : f.matrix128;
    const double rate = share * ceilings.peaks.matrix16.base() / ceilings.peaks.sms;
    double tile_s = 4.0 * tile.rows * tile.tokens * c.head_dim / rate;
    if (c.causal && !wide) tile_s *= f.causal;
    const int row_tiles = (c.query_tokens + tile.rows - 1) / tile.rows;
    std::vector<double> one_head, work;
    for (int i = 0; i < row_tiles; ++i) {
        const int last_row = (c.causal ? row_tiles - i : row_tiles) * tile.rows;  // the longest first
        const int end = c.causal ? std::min(c.context, last_row + c.context - c.query_tokens) : c.context;
        const auto full = (end + tile.tokens - 1) / tile.tokens;
        const double tiles = full + (c.causal ? f.diagonal : 0);
        one_head.push_back(tiles * tile_s);
    }
    for (int head = 0; head < c.batch * c.query_heads; ++head)
        work.insert(work.end(), one_head.begin(), one_head.end());
    BlockMachine machine;
    machine.sms = ceilings.peaks.sms;
    machine.slots = tile.per_sm;
    machine.start_s = f.start.base();
    machine.block = tile.per_sm > 1 ? f.alone : 1;  // work is in seconds of a full SM
    machine.sm = 1;
    machine.device = kUnlimited;
    const double memory = kernels::work_of(c).bytes / ceilings.memory_rate().base();
    return f.launch.base() + std::hypot(makespan(std::move(work), f.jitter, machine), memory);
}

/// The tiles of product_time. A tuned product overlaps the better: the cubes of compute and memory add up.
double library_s(const ProductShape& shape, const Ceilings& ceilings) {
    const BundledLibrary& l = shape.kind == ProductKind::Fp8 ? ceilings.bundled.fp8 : ceilings.bundled.half;
    Ceilings library = ceilings;
    library.memory = ceilings.bundled.stream.memory;
    library.product[static_cast<std::size_t>(shape.kind)] = l.tile;
    const KernelTime t = product_time(shape, library);
    const Seconds lasting = 2 * shape.groups * shape.m * shape.n * shape.k * flop /
                            (l.sustained * matrix_peak(ceilings.peaks, shape.kind));
    const double compute = max(t.compute, lasting).base(), memory = t.memory.base();
    return t.launch.base() + std::cbrt(compute * compute * compute + memory * memory * memory);
}

double stream_s(const Case& c, const Ceilings& ceilings) {
    const BundledStream& s = ceilings.bundled.stream;
    const kernels::StreamSchedule cut =
        kernels::stream_schedule({c.batch, c.inputs, c.outputs, c.dtype}, ceilings.peaks.sms);
    const int tiles = kernels::stream_tiles(c.batch);
    const int outputs = kernels::stream_outputs(tiles), width = kernels::stream_step_bytes(tiles);
    const double step = double(outputs) * width;
    const double fetch = s.latency.base() / (kernels::stream_stages(tiles) - 1);
    const double arithmetic = s.step.base() * tiles * (width / 256.0) * (outputs / 64.0);
    std::vector<double> work;
    for (int split = 0; split < cut.splits; ++split) {
        const int steps = std::min(cut.steps_per_split, cut.steps - split * cut.steps_per_split);
        work.insert(work.end(), static_cast<std::size_t>(cut.blocks), steps * step);
    }
    BlockMachine machine;
    machine.sms = ceilings.peaks.sms;
    machine.slots = kernels::stream_blocks(tiles);
    machine.start_s = s.start.base();
    machine.block = step / std::hypot(fetch, arithmetic);
    machine.sm = s.sm.base();
    const double again = 8.0 * tiles / outputs;  // bytes of x that a block reads, over its weights
    machine.device = 1 / (1 / bytes_per_s(s.memory, ceilings) + again / s.l2.base());
    const double time = s.launch.base() + makespan(std::move(work), 0, machine);
    if (cut.splits == 1) return time;
    return time + s.merge.base() + 4.0 * cut.splits * c.batch * outputs / s.merge_rate.base();
}

double weights_s(const Case& c, const Ceilings& ceilings) {
    const bool eight = c.dtype == DType::kFp8E4M3;
    ProductShape product;
    product.m = c.batch;
    product.n = c.outputs;
    product.k = c.inputs;
    product.kind = eight ? ProductKind::Fp8 : ProductKind::Half;
    product.weight_element = product.input_element = eight ? 1 : 2;
    const double library = library_s(product, ceilings);
    return c.batch > kernels::kMostStreamBatch ? library : std::min(library, stream_s(c, ceilings));
}

double softmax_s(const Case& c, const Ceilings& ceilings) {
    const double rows = double(c.batch) * c.query_heads * c.query_tokens;
    return transfer_s(2 * rows * c.context * static_cast<double>(kernels::size_of(c.dtype)),
                      ceilings.bundled.copy, ceilings);
}

double standard_s(const Case& c, const Ceilings& ceilings) {
    ProductShape scores;
    scores.groups = double(c.batch) * c.kv_heads;
    const int group = c.query_heads / c.kv_heads;
    scores.m = double(group) * c.query_tokens;
    scores.n = c.context;
    scores.k = c.head_dim;
    ProductShape values = scores;
    std::swap(values.n, values.k);
    double time = library_s(scores, ceilings) + softmax_s(c, ceilings) + library_s(values, ceilings);
    // Rows of another number than a multiple of 8 are copied to where they have room (standard_attention.h).
    if (c.context % 8 != 0) {
        const double cache = double(c.batch) * c.kv_heads * c.context * c.head_dim * 2;
        time += 2 * transfer_s(2 * cache, ceilings.bundled.copy, ceilings);
    }
    return time;
}

double seconds(const BundledShape& s, const Ceilings& ceilings) {
    const auto bytes = static_cast<double>(s.shape.bytes);
    switch (s.shape.op) {
        case CaseKind::kRead:
            return transfer_s(bytes, ceilings.bundled.read, ceilings);
        case CaseKind::kWrite:
            return transfer_s(bytes, ceilings.bundled.write, ceilings);
        case CaseKind::kCopy:
            return transfer_s(2 * bytes, ceilings.bundled.copy, ceilings);
        case CaseKind::kSoftmax:
            return softmax_s(s.shape, ceilings);
        case CaseKind::kStandardAttention:
            return standard_s(s.shape, ceilings);
        case CaseKind::kFlashAttention:
            return flash_s(s.shape, ceilings);
        case CaseKind::kDecodeAttention:
        case CaseKind::kPagedDecodeAttention:
            return decode_s(s.shape, s.schedule, ceilings);
        case CaseKind::kWeightStream:
            return weights_s(s.shape, ceilings);
        case CaseKind::kMlp:
        case CaseKind::kLoss:
            return 0;
    }
    return 0;
}

}  // namespace

BundledShape bundled_shape(const Case& shape, const Hardware& hardware) {
    BundledShape s{shape, {}};
    if (!is_decode(shape.op)) return s;
    kernels::DecodeRoom room;
    room.multiprocessors = static_cast<int>(hardware.compute.sms.value);
    room.shared_bytes_per_multiprocessor =
        hardware.compute.sram_per_sm ? static_cast<std::size_t>(hardware.compute.sram_per_sm->value.base())
                                     : 0;
    s.schedule = kernels::decode_schedule(
        {kernels::lengths_of(shape), shape.query_heads, shape.kv_heads, shape.head_dim, shape.dtype}, room);
    return s;
}

Seconds bundled_time(const BundledShape& shape, const Ceilings& ceilings) {
    return Seconds(seconds(shape, ceilings));
}

Bytes bundled_bytes(const BundledShape& s) { return Bytes(kernels::work_of(s.shape).bytes); }

Seconds bundled_floor(const BundledShape& s, const Peaks& peaks) {
    const FlopRate rate = s.shape.dtype == DType::kFp8E4M3 ? peaks.matrix8 : peaks.matrix16;
    return max(bundled_bytes(s) / peaks.memory, kernels::work_of(s.shape).flop * flop / rate);
}

}  // namespace headroom
