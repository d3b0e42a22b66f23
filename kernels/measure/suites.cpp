// SPDX-License-Identifier: Apache-2.0
#include "measure/suites.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>

namespace headroom::kernels {

namespace {

Case transfer(CaseKind op, std::size_t bytes) {
    Case c;
    c.op = op;
    c.bytes = bytes;
    return c;
}

Case decode(CaseKind op, DType type, int query_heads, int kv_heads, int head_dim, int batch, int context,
            int block_tokens = 16, bool ragged = false) {
    Case c;
    c.op = op;
    c.dtype = type;
    c.query_heads = query_heads;
    c.kv_heads = kv_heads;
    c.head_dim = head_dim;
    c.batch = batch;
    c.context = context;
    c.block_tokens = block_tokens;
    c.ragged = ragged;
    return c;
}

Case prefill(CaseKind op, DType type, int batch, int query_heads, int kv_heads, int head_dim,
             int query_tokens, int context, bool causal) {
    Case c = decode(op, type, query_heads, kv_heads, head_dim, batch, context);
    c.query_tokens = query_tokens;
    c.causal = causal;
    return c;
}

Case weights(DType type, int batch, int inputs, int outputs) {
    Case c;
    c.op = CaseKind::kWeightStream;
    c.dtype = type;
    c.batch = batch;
    c.inputs = inputs;
    c.outputs = outputs;
    return c;
}

// Device memory that a case takes with its scores and, for small ones, its rotating copies.
double footprint(const Case& c) {
    const double floor = 1.2e9;
    const double work = work_of(c).bytes;
    return c.op == CaseKind::kStandardAttention ? work / 2 + floor : work + floor;
}

std::vector<Case> that_fit(std::vector<Case> cases, std::size_t memory_bytes) {
    const double room = std::min(36e9, 0.4 * static_cast<double>(memory_bytes));
    std::erase_if(cases, [&](const Case& c) { return footprint(c) > room; });
    std::stable_sort(cases.begin(), cases.end(),
                     [](const Case& a, const Case& b) { return a.dtype < b.dtype; });
    return cases;
}

// The engine's raw numbers: distributions differ between standard libraries.
class Draw {
  public:
    explicit Draw(unsigned seed) : generator_(seed) {}
    template <class T, std::size_t N>
    T one_of(const std::array<T, N>& values) {
        return values[generator_() % N];
    }
    bool one_in(unsigned n) { return generator_() % n == 0; }
    // As many below the geometric mean as above; a multiple of `step`.
    int between(int low, int high, int step = 1) {
        const double share = static_cast<double>(generator_()) / 4294967296.0;
        const double value = low * std::pow(static_cast<double>(high) / low, share);
        return static_cast<int>(value) / step * step;
    }

  private:
    std::mt19937 generator_;
};

constexpr std::array<std::pair<int, int>, 12> kHeads{{{32, 8},
                                                      {28, 4},
                                                      {40, 8},
                                                      {64, 8},
                                                      {32, 32},
                                                      {40, 40},
                                                      {16, 2},
                                                      {96, 8},
                                                      {48, 1},
                                                      {24, 8},
                                                      {16, 16},
                                                      {64, 4}}};
constexpr std::array kHeadDims{64, 128, 128, 128, 128, 256};

using Names = std::set<std::string>;

void draw_decodes(std::vector<Case>& cases, Draw& draw, Names& seen, int count) {
    constexpr std::array kBlocks{8, 16, 16, 32, 64, 128};
    while (count > 0) {
        const auto [query_heads, kv_heads] = draw.one_of(kHeads);
        const CaseKind op = draw.one_in(4) ? CaseKind::kDecodeAttention : CaseKind::kPagedDecodeAttention;
        const DType type = draw.one_in(4) ? DType::kFp16 : DType::kBf16;
        const int dim = draw.one_of(kHeadDims), batch = draw.between(1, 257);
        const int context = draw.between(200, 60000);
        const Case c = decode(op, type, query_heads, kv_heads, dim, batch, context, draw.one_of(kBlocks),
                              draw.one_in(3));
        const double bytes = work_of(c).bytes;
        if (bytes < 2e6 || bytes > 12e9 || !seen.insert(describe(c)).second) continue;
        cases.push_back(c);
        --count;
    }
}

void draw_prefills(std::vector<Case>& cases, Draw& draw, Names& seen, int count) {
    constexpr std::array kBatches{1, 1, 2, 3, 5};
    while (count > 0) {
        const auto [query_heads, kv_heads] = draw.one_of(kHeads);
        const int tokens = draw.between(300, 14000);
        // A third of them continue a cached context, as a chunked prefill or a prefix hit does.
        const int context = draw.one_in(3) ? tokens + draw.between(300, 14000) : tokens;
        const Case c = prefill(CaseKind::kFlashAttention, draw.one_in(4) ? DType::kFp16 : DType::kBf16,
                               draw.one_of(kBatches), query_heads, kv_heads, draw.one_of(kHeadDims), tokens,
                               context, !draw.one_in(3));
        if (work_of(c).flop > 1e13 || !seen.insert(describe(c)).second) continue;
        cases.push_back(c);
        --count;
    }
}

void draw_weights(std::vector<Case>& cases, Draw& draw, Names& seen, int count) {
    while (count > 0) {
        const DType type = draw.one_in(3) ? DType::kFp8E4M3 : DType::kBf16;
        const int inputs = draw.between(2048, 28673, 64), outputs = draw.between(2048, 28673, 64);
        const Case c = weights(type, draw.between(1, 4097), inputs, outputs);
        if (!seen.insert(describe(c)).second) continue;
        cases.push_back(c);
        --count;
    }
}

std::vector<Case> grid() {
    std::vector<Case> cases;
    for (const int mebibytes : {4, 16, 64, 256, 2048}) {
        for (const CaseKind op : {CaseKind::kRead, CaseKind::kWrite, CaseKind::kCopy}) {
            cases.push_back(transfer(op, static_cast<std::size_t>(mebibytes) << 20));
        }
    }
    for (const auto& [query_heads, kv_heads] : {std::pair{32, 8}, {32, 32}, {64, 8}}) {
        for (const auto& [batch, context] :
             {std::pair{1, 1024}, {1, 8192}, {4, 4096}, {16, 4096}, {64, 2048}, {64, 8192}}) {
            cases.push_back(decode(CaseKind::kPagedDecodeAttention, DType::kBf16, query_heads, kv_heads, 128,
                                   batch, context));
        }
    }
    // Other widths of head and group, and uneven lengths.
    const auto paged = [&](int query_heads, int kv_heads, int head_dim, int batch, int context, bool ragged) {
        cases.push_back(decode(CaseKind::kPagedDecodeAttention, DType::kBf16, query_heads, kv_heads, head_dim,
                               batch, context, 16, ragged));
    };
    for (const int head_dim : {64, 256}) {
        paged(32, 8, head_dim, 2, 2048, false);
        paged(32, 8, head_dim, 32, 512, false);
        paged(32, 8, head_dim, 32, 4096, false);
    }
    for (const int head_dim : {64, 128, 256}) paged(64, 1, head_dim, 4, 2048, false);
    paged(64, 1, 128, 16, 1024, false);
    paged(64, 1, 128, 64, 16384, false);
    paged(16, 2, 128, 8, 512, false);
    for (const auto& [batch, context] : {std::pair{4, 1024}, {8, 4096}, {32, 1024}, {128, 512}}) {
        paged(32, 8, 128, batch, context, true);
    }
    paged(64, 1, 128, 8, 4096, true);
    for (const auto& [batch, context] : {std::pair{1, 4096}, {8, 8192}, {64, 4096}}) {
        cases.push_back(decode(CaseKind::kDecodeAttention, DType::kBf16, 32, 8, 128, batch, context));
    }
    for (const int dim : {64, 128, 256}) {
        for (const bool causal : {false, true}) {
            cases.push_back(
                prefill(CaseKind::kFlashAttention, DType::kBf16, 8, 16, 16, dim, 512, 512, causal));
            cases.push_back(
                prefill(CaseKind::kFlashAttention, DType::kBf16, 2, 16, 16, dim, 4096, 4096, causal));
        }
    }
    // Fewer blocks than the device holds, and a chunk behind a cached context.
    for (const int dim : {64, 128, 256}) {
        cases.push_back(prefill(CaseKind::kFlashAttention, DType::kBf16, 1, 16, 16, dim, 512, 512, true));
        cases.push_back(prefill(CaseKind::kFlashAttention, DType::kBf16, 1, 32, 8, dim, 512, 4096, true));
        cases.push_back(prefill(CaseKind::kFlashAttention, DType::kBf16, 1, 32, 8, dim, 2048, 2048, false));
    }
    for (const int tokens : {1024, 1920, 2304, 4096, 6400}) {
        cases.push_back(
            prefill(CaseKind::kStandardAttention, DType::kFp16, 1, 8, 8, 128, tokens, tokens, false));
        cases.push_back(prefill(CaseKind::kSoftmax, DType::kFp16, 1, 8, 8, 128, tokens, tokens, false));
    }
    for (const int batch : {1, 8, 32, 128, 1024}) {
        cases.push_back(weights(DType::kBf16, batch, 4096, 4096));
        cases.push_back(weights(DType::kBf16, batch, 8192, 8192));
        cases.push_back(weights(DType::kFp8E4M3, batch, 8192, 8192));
    }
    for (const int batch : {4, 64, 256, 512}) {
        cases.push_back(weights(DType::kBf16, batch, 2048, 6144));
        cases.push_back(weights(DType::kFp8E4M3, batch, 4096, 4096));
        cases.push_back(weights(DType::kBf16, batch, 12288, 4096));
    }
    return cases;
}

// The grid's shapes are round; these are not, and the fit needs both.
std::vector<Case> drawn(std::vector<Case> cases, Draw draw, Names& seen, int decodes, int prefills,
                        int products) {
    draw_decodes(cases, draw, seen, decodes);
    draw_prefills(cases, draw, seen, prefills);
    draw_weights(cases, draw, seen, products);
    return cases;
}

// Of the calibration: what it has seen is kept from the other list.
std::vector<Case> calibration(Names& seen) {
    std::vector<Case> cases = grid();
    for (const Case& c : cases) seen.insert(describe(c));
    return drawn(std::move(cases), Draw(1), seen, 120, 40, 80);
}

}  // namespace

std::vector<Case> calibration_cases(std::size_t memory_bytes) {
    Names seen;
    return that_fit(calibration(seen), memory_bytes);
}

std::vector<Case> validation_cases(std::size_t memory_bytes) {
    Names seen;
    calibration(seen);
    std::vector<Case> cases;
    for (const int megabytes : {3, 12, 50, 200, 800, 3000}) {
        for (const CaseKind op : {CaseKind::kRead, CaseKind::kWrite, CaseKind::kCopy}) {
            cases.push_back(transfer(op, static_cast<std::size_t>(megabytes) * 1'000'000 / 16 * 16));
        }
    }
    cases = drawn(std::move(cases), Draw(6), seen, 110, 40, 60);
    for (const auto& [heads, tokens] : {std::pair{8, 2000}, {8, 3000}, {16, 5000}, {8, 8192}, {32, 1500}}) {
        for (const DType type : {DType::kFp16, DType::kBf16}) {
            cases.push_back(
                prefill(CaseKind::kStandardAttention, type, 1, heads, heads, 128, tokens, tokens, false));
            cases.push_back(prefill(CaseKind::kSoftmax, type, 1, heads, heads, 128, tokens, tokens, false));
        }
    }
    return that_fit(std::move(cases), memory_bytes);
}

}  // namespace headroom::kernels
