// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "ceilings/ceilings.h"
#include "common/error.h"
#include "common/matmul.h"

#include <algorithm>
#include <cmath>

namespace headroom::kernels {

namespace {

Case decode_case(Operator op, DType type, int query_heads, int kv_heads, int batch, int context,
                 int block = 16) {
    Case c;
    c.op = op;
    c.dtype = type;
    c.batch = batch;
    c.query_heads = query_heads;
    c.kv_heads = kv_heads;
    c.context = context;
    c.block_tokens = block;
    return c;
}

Case attention_case(Operator op, DType type, int batch, int query_heads, int kv_heads, int d, int tokens,
                    bool causal) {
    Case c;
    c.op = op;
    c.dtype = type;
    c.batch = batch;
    c.query_heads = query_heads;
    c.kv_heads = kv_heads;
    c.head_dim = d;
    c.query_tokens = c.context = tokens;
    c.causal = causal;
    return c;
}

// The shapes of the public kernels' table: (query, KV) heads, context, batch.
std::vector<Case> anchor_decodes(Operator op, int block) {
    std::vector<Case> cases;
    for (const auto& [query_heads, kv_heads] : {std::pair{32, 32}, {32, 8}, {64, 8}}) {
        for (const int context : {1024, 8192, 32768}) {
            for (const int batch : {1, 4, 16, 64, 256}) {
                if (kv_heads == 32 && context == 32768 && batch == 256) continue;
                if (query_heads == 64 && context == 32768 && batch == 256) continue;
                cases.push_back(decode_case(op, DType::kBf16, query_heads, kv_heads, batch, context, block));
            }
        }
    }
    return cases;
}

std::vector<Case> flash_cases() {
    std::vector<Case> cases;
    const auto add = [&](DType type, int batch, int hq, int hk, int d, int tokens, bool causal) {
        cases.push_back(attention_case(Operator::kFlashAttention, type, batch, hq, hk, d, tokens, causal));
    };
    add(DType::kBf16, 2, 16, 16, 128, 8192, false);
    add(DType::kBf16, 1, 16, 16, 128, 16384, true);
    add(DType::kBf16, 8, 16, 16, 128, 2048, false);
    add(DType::kBf16, 8, 16, 16, 128, 2048, true);
    add(DType::kBf16, 8, 32, 8, 128, 2048, true);
    add(DType::kBf16, 2, 32, 32, 64, 8192, false);
    add(DType::kBf16, 1, 32, 32, 64, 16384, true);
    add(DType::kBf16, 2, 8, 8, 256, 8192, false);
    add(DType::kFp16, 1, 8, 8, 128, 8192, false);
    return cases;
}

std::vector<Case> weight_cases() {
    std::vector<Case> cases;
    for (const DType type : {DType::kBf16, DType::kFp8E4M3}) {
        for (const int batch : {1, 8, 16, 32, 64, 128, 256, 512, 2048}) {
            Case c;
            c.op = Operator::kWeightStream;
            c.dtype = type;
            c.batch = batch;
            c.inputs = 8192;
            c.outputs = 28672;
            cases.push_back(c);
        }
    }
    for (const int batch : {1, 16}) {
        Case c;
        c.op = Operator::kWeightStream;
        c.batch = batch;
        c.inputs = 4096;
        c.outputs = 4096;
        cases.push_back(c);
    }
    return cases;
}

}  // namespace

std::vector<Case> suite(const std::string& name) {
    if (name == "paged") return anchor_decodes(Operator::kPagedDecodeAttention, 16);
    if (name == "contiguous") return anchor_decodes(Operator::kDecodeAttention, 16);
    if (name == "flash") return flash_cases();
    if (name == "weights") return weight_cases();
    if (name == "standard") {
        std::vector<Case> cases;
        for (const Operator op : {Operator::kStandardAttention, Operator::kSoftmax}) {
            cases.push_back(attention_case(op, DType::kFp16, 1, 8, 8, 128, 8192, false));
            cases.push_back(attention_case(op, DType::kFp16, 1, 8, 8, 128, 16384, false));
        }
        return cases;
    }
    if (name == "wide") {
        std::vector<Case> cases;
        for (const Operator op : {Operator::kDecodeAttention, Operator::kPagedDecodeAttention}) {
            cases.push_back(decode_case(op, DType::kBf16, 64, 1, 64, 32768));
            cases.push_back(decode_case(op, DType::kFp16, 64, 8, 64, 8192));
            cases.push_back(decode_case(op, DType::kBf16, 16, 1, 64, 32768));
        }
        for (const int block : {8, 32, 64, 256}) {
            cases.push_back(
                decode_case(Operator::kPagedDecodeAttention, DType::kBf16, 32, 8, 64, 8192, block));
        }
        return cases;
    }
    HEADROOM_REQUIRE(false, "no such suite: " + name);
}

int time_cases(const std::vector<Case>& cases, DataPool& pool, std::FILE* json) {
    int failures = 0;
    std::printf("%-58s %10s %7s %9s %9s %9s\n", "case", "us", "spread", "TB/s", "TFLOP/s", "error");
    for (const Case& c : cases) {
        try {
            const auto prepared = prepare(c, pool);
            const double error = prepared.sample_error ? prepared.sample_error() : 0;
            if (!(error <= 1e-2)) ++failures;
            TimingOptions options;
            options.rotation = prepared.rotation;
            const auto timing = time_graph(prepared.launch, options);
            const auto work = work_of(c);
            std::printf("%-58s %10.2f %6.1f%% %9.3f %9.1f %9.1e%s\n", describe(c).c_str(),
                        timing.median_s * 1e6, timing.spread() * 100, work.bytes / timing.median_s * 1e-12,
                        work.flop / timing.median_s * 1e-12, error, timing.noisy ? " noisy" : "");
            if (json != nullptr) {
                std::fprintf(
                    json,
                    "{\"case\": \"%s\", \"median_s\": %.6e, \"p10_s\": %.6e, \"p90_s\": %.6e, \"bytes\": "
                    "%.0f, \"flop\": %.0f}\n",
                    describe(c).c_str(), timing.median_s, timing.p10_s, timing.p90_s, work.bytes, work.flop);
            }
        } catch (const DeviceError& error) {
            ++failures;
            std::printf("%-58s failed: %s\n", describe(c).c_str(), error.what());
        }
        std::fflush(stdout);
    }
    return failures;
}

void print_ceilings(DataPool& pool) {
    pool.fill(DType::kBf16);
    const DeviceBuffer sink(16);
    DeviceBuffer target(std::size_t{1} << 32);
    auto* source = static_cast<char*>(pool.data());
    for (const std::size_t bytes : {std::size_t{4} << 20, std::size_t{16} << 20, std::size_t{32} << 20,
                                    std::size_t{128} << 20, std::size_t{512} << 20, std::size_t{4} << 30}) {
        TimingOptions options;
        options.rotation = rotation_for(bytes);
        const auto copies = static_cast<std::size_t>(options.rotation);
        std::printf("%6zu MiB", bytes >> 20);
        for (const auto method : {ReadMethod::kLoads, ReadMethod::kBulkCopies}) {
            if (!supports(method)) continue;
            const auto t = time_graph(
                [&](Stream stream, int turn) {
                    read_memory(method, source + static_cast<std::size_t>(turn) % copies * bytes, bytes,
                                sink.as<unsigned>(), stream);
                },
                options);
            std::printf("  read %s %8.2f us %.3f TB/s", method == ReadMethod::kLoads ? "loads" : "bulk",
                        t.median_s * 1e6, static_cast<double>(bytes) / t.median_s * 1e-12);
        }
        const std::size_t slots = std::max<std::size_t>(1, std::min(copies, target.bytes() / bytes));
        const auto w = time_graph(
            [&](Stream stream, int turn) {
                write_memory(target.as<char>() + static_cast<std::size_t>(turn) % slots * bytes, bytes,
                             stream);
            },
            options);
        const auto c = time_graph(
            [&](Stream stream, int turn) {
                copy_memory(target.as<char>() + static_cast<std::size_t>(turn) % slots * bytes,
                            source + static_cast<std::size_t>(turn) % copies * bytes, bytes, stream);
            },
            options);
        std::printf("  write %.3f  copy %.3f TB/s\n", static_cast<double>(bytes) / w.median_s * 1e-12,
                    2 * static_cast<double>(bytes) / c.median_s * 1e-12);
    }
    for (const std::size_t bytes : {std::size_t{8} << 20, std::size_t{24} << 20}) {
        const auto t =
            time_graph([&](Stream s, int) { read_repeatedly(source, bytes, 20, sink.as<unsigned>(), s); });
        std::printf("L2 read, %zu MiB: %.2f TB/s\n", bytes >> 20,
                    20.0 * static_cast<double>(bytes) / t.median_s * 1e-12);
    }
    double moved = 0;
    const auto shared = time_graph([&](Stream s, int) { moved = read_shared(500, sink.as<unsigned>(), s); });
    std::printf("shared memory read: %.2f TB/s\n", moved / shared.median_s * 1e-12);
    for (const DType type : {DType::kBf16, DType::kFp16, DType::kFp8E4M3}) {
        double flop = 0;
        const auto t =
            time_graph([&](Stream s, int) { flop = multiply_in_registers(type, 4000, sink.as<float>(), s); });
        std::printf("mma.sync %s: %.0f TFLOP/s\n", name_of(type), flop / t.median_s * 1e-12);
    }
    for (const DType type : {DType::kBf16, DType::kFp16, DType::kFp8E4M3, DType::kInt8}) {
        pool.fill(type);
        MatmulShape shape;
        shape.rows = shape.columns = shape.depth = 8192;
        shape.input = shape.output = type == DType::kFp8E4M3 ? DType::kBf16 : type;
        shape.input = type;
        const std::size_t matrix = std::size_t{8192} * 8192;
        try {
            Matmul product(shape);
            product.tune(source, source + 2 * matrix, target.data(), 1.0f);
            const auto t = time_graph(
                [&](Stream s, int) { product.run(source, source + 2 * matrix, target.data(), 1.0f, s); });
            std::printf("product %s 8192^3: %.0f TFLOP/s (spread %.1f%%)\n", name_of(type),
                        2.0 * std::pow(8192.0, 3) / t.median_s * 1e-12, t.spread() * 100);
        } catch (const DeviceError& error) {
            std::printf("product %s: %s\n", name_of(type), error.what());
        }
    }
    const auto empty = time_graph([&](Stream s, int) { launch_empty(s); });
    const auto increment = time_graph([&](Stream s, int) { launch_increment(sink.as<unsigned>(), s); });
    std::printf("launch in a graph: empty %.2f us, increment %.2f us\n", empty.median_s * 1e6,
                increment.median_s * 1e6);
}

}  // namespace headroom::kernels
