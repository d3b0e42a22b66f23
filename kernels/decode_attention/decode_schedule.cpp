// SPDX-License-Identifier: Apache-2.0
#include "decode_attention/decode_schedule.h"

#include "decode_attention/decode_limits.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headroom::kernels {

namespace {

constexpr int kGrain = 64;  // tokens: one step of a block's four warps

int divide_up(int a, int b) { return (a + b - 1) / b; }

struct Candidate {
    int chunk = 0;
    double cost = 0;
};

// Parts have at most `chunk` tokens; those of the last sequences, `tail_share` of all work, at most
// `tail_chunk`.
struct Cut {
    int chunk = 0;
    int tail_chunk = 0;
    double tail_share = 0;
};

// Time of a plan in tokens per resident block. Blocks that start up and drain cost about 64 tokens, writing a
// partial result 1 for each query row (fp32, against two 16-bit rows of a token). The kernel that merges
// takes about as long as 30 tokens, 20 for each trip of its loads, and reads partial results at 0.4 of the
// rate at which all blocks stream.
double plan_cost(const DecodeShape& shape, int units_per_sequence, int rows, int resident, int chunk) {
    double items = 0, work = 0, longest = 0, partials = 0;
    int most = 1;
    for (const int length : shape.lengths) {
        const int parts = divide_up(length, chunk);
        const double each = divide_up(divide_up(length, parts), kGrain) * kGrain;
        const double cost = each + 64 + (parts > 1 ? rows : 0);
        const double here = static_cast<double>(parts) * units_per_sequence;
        items += here;
        if (parts > 1) partials += here;
        most = std::max(most, parts);
        work += cost * here;
        longest = std::max(longest, cost);
    }
    const double waves = items / resident;
    const double merge =
        most > 1 ? 30 + 20 * merge_trips(shape.head_dim, most) + 2.5 * partials * rows / resident : 0;
    return std::min(std::ceil(waves) * longest, work / resident + 0.5 * longest) + merge;
}

int choose_chunk(const DecodeShape& shape, int units_per_sequence, int rows, int resident) {
    const int longest = *std::max_element(shape.lengths.begin(), shape.lengths.end());
    const int most_parts = std::min(kMaxParts, divide_up(longest, kGrain));
    Candidate best;
    for (int parts = 1; parts <= most_parts; ++parts) {
        const int chunk = divide_up(divide_up(longest, parts), kGrain) * kGrain;
        const double cost = plan_cost(shape, units_per_sequence, rows, resident, chunk);
        if (best.chunk == 0 || cost < best.cost) best = {chunk, cost};
    }
    return best.chunk;
}

// With long parts the last wave of blocks would leave much of the device idle: short ones fill it.
Cut choose_cut(const DecodeShape& shape, int units_per_sequence, int rows, int resident) {
    Cut cut;
    cut.chunk = choose_chunk(shape, units_per_sequence, rows, resident);
    constexpr int kLong = 4096;  // tokens: about 0.1 ms of one block on an H200
    const auto waves = [&] {
        double items = 0;
        for (const int length : shape.lengths) items += divide_up(length, cut.chunk);
        return items * units_per_sequence / resident;
    };
    if (cut.chunk > 2 * kLong && waves() <= 1) cut.chunk = divide_up(cut.chunk, 2 * kGrain) * kGrain;
    const double last = waves() - std::floor(waves());
    if (cut.chunk < kLong || waves() < 1 || last < 0.02 || last > 0.85) return cut;
    cut.tail_chunk = std::max(cut.chunk / 4, 1024);
    cut.tail_share = last / waves();
    return cut;
}

std::vector<DecodeItem> make_items(const DecodeShape& shape, int slices, const Cut& cut) {
    std::vector<DecodeItem> items;
    int unit = 0, partial = 0;
    const int units = shape.kv_heads * slices;
    const double all = std::accumulate(shape.lengths.begin(), shape.lengths.end(), 0.0);
    double before = 0;
    for (int sequence = 0; sequence < static_cast<int>(shape.lengths.size()); ++sequence) {
        const int length = shape.lengths[static_cast<std::size_t>(sequence)];
        const bool tail = before + 0.5 * length > (1 - cut.tail_share) * all;
        const int chunk = tail ? cut.tail_chunk : cut.chunk;
        before += length;
        const int each = divide_up(divide_up(length, divide_up(length, chunk)), kGrain) * kGrain;
        const int parts = divide_up(length, each);
        for (int part = 0; part < parts; ++part) {
            for (int head_slice = 0; head_slice < units; ++head_slice) {
                items.push_back({sequence, head_slice, part * each, std::min(length, (part + 1) * each),
                                 unit + head_slice, part, parts, partial + head_slice * parts});
            }
        }
        unit += units;
        if (parts > 1) partial += units * parts;
    }
    // Longest first, so that the last blocks to run are short; otherwise neighbours in memory run together.
    std::stable_sort(items.begin(), items.end(), [](const DecodeItem& a, const DecodeItem& b) {
        return a.end - a.begin > b.end - b.begin;
    });
    return items;
}

}  // namespace

DecodeSchedule decode_schedule(const DecodeShape& shape, const DecodeRoom& room, int chunk_tokens) {
    DecodeSchedule schedule;
    schedule.slices = divide_up(shape.group(), kMaxRows);
    schedule.rows_per_slice = divide_up(shape.group(), schedule.slices);
    const auto block_bytes = static_cast<std::size_t>(decode_shared_bytes(shape.head_dim)) + 2048;
    const auto per_multiprocessor = std::clamp<std::size_t>(
        room.shared_bytes_per_multiprocessor / block_bytes, 1, kBlocksPerMultiprocessor);
    schedule.resident = room.multiprocessors * static_cast<int>(per_multiprocessor);
    const Cut cut = chunk_tokens > 0 ? Cut{divide_up(chunk_tokens, kGrain) * kGrain, 0, 0}
                                     : choose_cut(shape, shape.kv_heads * schedule.slices,
                                                  schedule.rows_per_slice, schedule.resident);
    schedule.chunk_tokens = cut.chunk;
    schedule.items = make_items(shape, schedule.slices, cut);
    for (const DecodeItem& item : schedule.items) {
        schedule.most_parts = std::max(schedule.most_parts, item.parts);
        if (item.parts > 1) ++schedule.partials;
        if (item.parts > 1 && item.part == 0) ++schedule.merges;
    }
    return schedule;
}

}  // namespace headroom::kernels
