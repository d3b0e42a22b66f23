// SPDX-License-Identifier: Apache-2.0
#include "catalogue.h"
#include "perf/attention_time.h"
#include "perf/product_time.h"

using namespace headroom;
using test::near;

namespace {

/// Share of the memory bandwidth that decode attention over 2 GB of 16-bit cache reaches.
double decode_share(const Ceilings& c) {
    AttentionShape s;
    s.sequences = 64;
    s.context = 8192;
    s.heads = 32;
    s.kv_heads = 8;
    const Bytes bytes = s.sequences * s.context * s.kv_heads * 256 * 2 * byte;
    return bytes / decode_attention_time(s, c).total / c.peaks.memory;
}

ProductShape product(double m, double n, double k, ProductKind kind) {
    ProductShape s;
    s.m = m;
    s.n = n;
    s.k = k;
    s.kind = kind;
    s.weight_element = s.input_element = kind == ProductKind::Half ? 2 : 1;
    return s;
}

double streaming_share(const Ceilings& c) {
    const ProductShape s = product(1, 28672, 8192, ProductKind::Half);
    return s.n * s.k * 2 * byte / product_time(s, c).total / c.peaks.memory;
}

double product_tflops(const Ceilings& c, ProductKind kind) {
    return (2 * 8192.0 * 8192 * 8192 * flop / product_time(product(8192, 8192, 8192, kind), c).total)
        .in(TFLOP / second);
}

double causal_prefill_tflops(const Ceilings& c, double sequences, double tokens) {
    AttentionShape s;
    s.sequences = sequences;
    s.query_tokens = s.context = tokens;
    s.heads = 32;
    s.kv_heads = 8;
    const Flops work = sequences * tokens * tokens / 2 * 32 * 4 * 128 * flop;
    return (work / prefill_attention_time(s, c).total).in(TFLOP / second);
}

Ceilings reach(const char* name) { return test::hardware(name).reach; }

}  // namespace

// Medians of public kernel tables, as fractions of the datasheet's peaks.
TEST_CASE("devices reach the published fractions of their peaks within a tenth", "[perf][physics][outside]") {
    CHECK(near(decode_share(reach("a100-sxm-80gb")), 0.69, 0.1));
    CHECK(near(decode_share(reach("h100-sxm")), 0.82, 0.1));
    CHECK(near(decode_share(reach("l40s")), 0.80, 0.1));
    CHECK(near(decode_share(reach("b200")), 0.79, 0.1));
    CHECK(near(streaming_share(reach("a100-sxm-80gb")), 0.73, 0.1));
    CHECK(near(streaming_share(reach("h100-sxm")), 0.84, 0.1));
    CHECK(near(streaming_share(reach("l40s")), 0.85, 0.1));
    CHECK(near(streaming_share(reach("b200")), 0.77, 0.1));
    CHECK(near(product_tflops(reach("a100-sxm-80gb"), ProductKind::Half), 271, 0.1));
    CHECK(near(product_tflops(reach("h100-sxm"), ProductKind::Half), 794, 0.1));
    CHECK(near(product_tflops(reach("b200"), ProductKind::Half), 1745, 0.1));
    CHECK(near(product_tflops(reach("mi300x"), ProductKind::Half), 668, 0.1));
    CHECK(near(product_tflops(reach("h200"), ProductKind::Fp8), 1453, 0.1));
    CHECK(near(product_tflops(reach("b200"), ProductKind::Fp8), 3433, 0.1));
}

// Ranges of medians over 4 k tokens and more, widened by a tenth. (H100's 667 to 742 is of other kernels than
// those of vLLM 0.14.0, whose table ends at 650.)
TEST_CASE("causal prefill attention reaches the published rates", "[perf][physics][outside]") {
    for (const auto& [name, low, high] :
         {std::tuple{"a100-sxm-80gb", 172.0, 182.0}, {"l40s", 161.0, 213.0}, {"b200", 1319.0, 1663.0}}) {
        INFO(name);
        const double rate = causal_prefill_tflops(reach(name), 4, 8192);
        CHECK(rate > 0.9 * low);
        CHECK(rate < 1.1 * high);
    }
}

TEST_CASE("a fit carries over by what limits it", "[perf][physics]") {
    const Peaks from = reach("h100-sxm").peaks;
    Peaks to = from;
    to.clock = 0.5 * from.clock;
    const auto moved = [&](const char* name, double value) {
        return carried(*find_ceiling(name), value, from, to);
    };
    CHECK(near(moved("collective.base", 4e-6), 8e-6));           // clocks
    CHECK(near(moved("product.half.tile_load", 200e9), 100e9));  // bytes per clock
    CHECK(near(moved("product.half.matrix", 0.9), 0.9));         // a share of a peak
    CHECK(near(moved("decode.launch", 8e-6), 8e-6));             // the host's
    to = from;
    to.memory = 2 * from.memory;
    CHECK(near(moved("decode.tile16", 1e-6), 0.5e-6));  // waits for its share of the bandwidth
    CHECK(near(moved("product.half.launch", 2e-6), 2e-6));
    to = from;
    to.sms = 8;
    CHECK(near(moved("product.half.tile_load", 200e9), 1.5 * from.memory.base() / 8));  // few wide cores
    for (const CeilingParameter& p : ceiling_parameters()) {
        INFO(p.name);
        CHECK(near(carried(p, p.low, from, from), p.low));  // to itself: nothing changes
    }
}
