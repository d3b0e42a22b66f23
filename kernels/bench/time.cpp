// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "common/error.h"

#include <algorithm>
#include <cmath>

namespace headroom::kernels {

namespace {

Case decode_case(CaseKind op, DType type, int query_heads, int kv_heads, int batch, int context,
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

Case attention_case(CaseKind op, DType type, int batch, int query_heads, int kv_heads, int d, int tokens,
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
std::vector<Case> anchor_decodes(CaseKind op, int block) {
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
        cases.push_back(attention_case(CaseKind::kFlashAttention, type, batch, hq, hk, d, tokens, causal));
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
            c.op = CaseKind::kWeightStream;
            c.dtype = type;
            c.batch = batch;
            c.inputs = 8192;
            c.outputs = 28672;
            cases.push_back(c);
        }
    }
    for (const int batch : {1, 16}) {
        Case c;
        c.op = CaseKind::kWeightStream;
        c.batch = batch;
        c.inputs = 4096;
        c.outputs = 4096;
        cases.push_back(c);
    }
    return cases;
}

// The sizes of mappings/mlp-unfused.yaml, mlp-gated-unfused.yaml and loss-unfused.yaml.
std::vector<Case> product_forms() {
    std::vector<Case> cases;
    Case c;
    c.op = CaseKind::kMlp;
    c.tokens = 8192;
    c.hidden = 4096;
    c.inner = 14336;
    for (const bool gated : {false, true}) {
        for (const bool fused : {false, true}) {
            c.gated = gated;
            c.fused = fused;
            cases.push_back(c);
        }
    }
    c.op = CaseKind::kLoss;
    c.gated = false;
    c.inner = 0;
    c.vocabulary = 131072;
    for (const bool fused : {false, true}) {
        c.fused = fused;
        cases.push_back(c);
    }
    return cases;
}

}  // namespace

std::vector<Case> suite(const std::string& name) {
    if (name == "paged") return anchor_decodes(CaseKind::kPagedDecodeAttention, 16);
    if (name == "contiguous") return anchor_decodes(CaseKind::kDecodeAttention, 16);
    if (name == "flash") return flash_cases();
    if (name == "weights") return weight_cases();
    if (name == "standard") {
        std::vector<Case> cases;
        for (const CaseKind op : {CaseKind::kStandardAttention, CaseKind::kSoftmax}) {
            cases.push_back(attention_case(op, DType::kFp16, 1, 8, 8, 128, 8192, false));
            cases.push_back(attention_case(op, DType::kFp16, 1, 8, 8, 128, 16384, false));
        }
        return cases;
    }
    if (name == "forms") return product_forms();
    if (name == "calibration") return calibration_cases(device_info().memory_bytes);
    if (name == "validation") return validation_cases(device_info().memory_bytes);
    if (name == "counters") {
        std::vector<Case> cases;
        cases.push_back(
            attention_case(CaseKind::kStandardAttention, DType::kFp16, 1, 8, 8, 128, 8192, false));
        cases.push_back(attention_case(CaseKind::kFlashAttention, DType::kFp16, 1, 8, 8, 128, 8192, false));
        cases.push_back(attention_case(CaseKind::kFlashAttention, DType::kBf16, 1, 16, 16, 128, 16384, true));
        cases.push_back(decode_case(CaseKind::kPagedDecodeAttention, DType::kBf16, 32, 8, 16, 8192));
        cases.push_back(decode_case(CaseKind::kDecodeAttention, DType::kBf16, 32, 8, 16, 8192));
        cases.push_back(decode_case(CaseKind::kPagedDecodeAttention, DType::kBf16, 64, 8, 4, 8192));
        const auto weights = weight_cases();
        cases.push_back(weights[0]);
        cases.push_back(weights[4]);
        const auto forms = product_forms();
        cases.insert(cases.end(), forms.begin(), forms.end());
        return cases;
    }
    if (name == "wide") {
        std::vector<Case> cases;
        for (const CaseKind op : {CaseKind::kDecodeAttention, CaseKind::kPagedDecodeAttention}) {
            cases.push_back(decode_case(op, DType::kBf16, 64, 1, 64, 32768));
            cases.push_back(decode_case(op, DType::kFp16, 64, 8, 64, 8192));
            cases.push_back(decode_case(op, DType::kBf16, 16, 1, 64, 32768));
        }
        for (const int block : {8, 32, 64, 256}) {
            cases.push_back(
                decode_case(CaseKind::kPagedDecodeAttention, DType::kBf16, 32, 8, 64, 8192, block));
        }
        return cases;
    }
    HEADROOM_REQUIRE(false, "no such suite: " + name);
}

int time_suite(const std::string& name, DataPool& pool, std::vector<CaseResult>& results) {
    int failures = 0;
    std::printf("%-62s %10s %7s %9s %9s %9s\n", "case", "us", "spread", "TB/s", "TFLOP/s", "error");
    for (const Case& c : suite(name)) {
        try {
            auto result = measure_case(c, pool);
            result.suite = name;
            if (!(result.sample_error <= 1e-2)) ++failures;
            const auto& timing = result.timing;
            const auto work = work_of(c);
            std::printf("%-62s %10.2f %6.1f%% %9.3f %9.1f %9.1e%s\n", describe(c).c_str(),
                        timing.median_s * 1e6, timing.spread() * 100, work.bytes / timing.median_s * 1e-12,
                        work.flop / timing.median_s * 1e-12, result.sample_error,
                        timing.noisy ? " noisy" : "");
            results.push_back(result);
        } catch (const DeviceError& error) {
            ++failures;
            std::printf("%-62s failed: %s\n", describe(c).c_str(), error.what());
        }
        std::fflush(stdout);
    }
    return failures;
}

void print_ceilings(const Ceilings& ceilings) {
    for (std::size_t i = 0; i < ceilings.read.size(); ++i) {
        const auto& read = ceilings.read[i];
        std::printf("%6zu MiB  read %9.2f us %.3f TB/s  write %.3f TB/s  copy %.3f TB/s\n", read.bytes >> 20,
                    read.timing.median_s * 1e6, read.bytes_per_s() * 1e-12,
                    ceilings.write[i].bytes_per_s() * 1e-12, ceilings.copy[i].bytes_per_s() * 1e-12);
    }
    std::printf("L2 read %.2f TB/s, shared memory read %.1f TB/s\n", ceilings.l2_read.bytes_per_s() * 1e-12,
                ceilings.shared_read.bytes_per_s() * 1e-12);
    for (const auto& rate : ceilings.matrix) {
        std::printf("%s: product %.0f TFLOP/s (spread %.1f%%), mma.sync %.0f TFLOP/s\n", name_of(rate.dtype),
                    rate.product_flop_per_s * 1e-12, rate.product.spread() * 100,
                    rate.mma_flop_per_s.value_or(0) * 1e-12);
    }
    std::printf(
        "launch: alone %.2f us, in a stream %.2f us, in a graph %.2f us, dependent in a graph %.2f us\n",
        ceilings.launch_alone_s * 1e6, ceilings.launch_in_stream_s * 1e6, ceilings.launch_in_graph_s * 1e6,
        ceilings.dependent_in_graph_s * 1e6);
}

}  // namespace headroom::kernels
