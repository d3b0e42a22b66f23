// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

template <typename... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

Seconds roof(Bytes bytes, Flops work, FlopRate rate, const Peaks& peaks) {
    return max(bytes / peaks.memory, work / rate);
}

/// Query-key pairs of causal attention over the last `query` of `context` tokens.
double causal_pairs(double query, double context) { return query * (context - query) + query * (query + 1) / 2; }

Seconds attention_floor(const AttentionShape& s, const Peaks& peaks) {
    const double pairs = causal_pairs(s.query_tokens, s.context);
    const Flops work = 2 * s.sequences * s.heads * pairs * (s.qk_dim + s.v_dim) * flop;
    const Bytes cache = s.sequences * s.kv_heads * s.context * (s.qk_dim + s.v_dim) * s.cache_element * byte;
    const Bytes rest = s.sequences * s.query_tokens * s.heads * (s.qk_dim + s.v_dim) * 2 * byte;
    const Bytes kept = s.residency == Residency::Warm ? peaks.l2 : Bytes();
    return roof(max(Bytes(), cache + rest - kept), work, peaks.matrix16, peaks);
}

Seconds mla_floor(const MlaShape& s, bool decode, const Peaks& peaks) {
    const double width = decode ? 2 * s.rank + s.rope_dim : s.nope_dim + s.rope_dim + s.v_dim;
    const Flops work = 2 * s.sequences * s.heads * causal_pairs(s.query_tokens, s.context) * width * flop;
    const Bytes cache = s.sequences * s.context * (s.rank + s.rope_dim) * s.cache_element * byte;
    return roof(max(Bytes(), cache - peaks.l2), work, peaks.matrix16, peaks);
}

Seconds product_floor(const ProductShape& s, const Peaks& peaks) {
    const Bytes bytes = s.groups *
                        (s.m * s.k * s.input_element + s.k * s.n * s.weight_element + s.m * s.n * s.output_element) *
                        byte;
    return roof(max(Bytes(), bytes - peaks.l2), 2 * s.groups * s.m * s.n * s.k * flop, matrix_peak(peaks, s.kind),
                peaks);
}

Seconds experts_floor(const ExpertsCase& c, const Peaks& peaks) {
    const ExpertsShape& s = c.shape;
    const double matrices = s.gated ? 3 : 2;
    const Bytes weights = matrices * c.least_hit * s.hidden * s.inter * s.weight_element * byte;
    return roof(max(Bytes(), weights - peaks.l2), 2 * matrices * c.least_rows * s.hidden * s.inter * flop,
                matrix_peak(peaks, s.kind), peaks);
}

}  // namespace

Seconds expected_time(const KernelShape& shape, const Ceilings& ceilings) {
    return std::visit(
        Overloaded{
            [&](const ProductShape& s) { return product_time(s, ceilings).total; },
            [&](const DecodeCase& c) { return decode_attention_time(c.shape, ceilings).total; },
            [&](const PrefillCase& c) { return prefill_attention_time(c.shape, ceilings).total; },
            [&](const MlaDecodeCase& c) { return mla_decode_time(c.shape, ceilings).total; },
            [&](const MlaPrefillCase& c) { return mla_prefill_time(c.shape, ceilings).total; },
            [&](const ExpertsCase& c) { return experts_time(c.shape, c.load, ceilings).total; },
            [&](const CollectiveShape& s) { return collective_time(s, ceilings); },
        },
        shape);
}

Seconds floor_time(const KernelShape& shape, const Peaks& peaks) {
    return std::visit(Overloaded{
                          [&](const ProductShape& s) { return product_floor(s, peaks); },
                          [&](const DecodeCase& c) { return attention_floor(c.shape, peaks); },
                          [&](const PrefillCase& c) { return attention_floor(c.shape, peaks); },
                          [&](const MlaDecodeCase& c) { return mla_floor(c.shape, true, peaks); },
                          [&](const MlaPrefillCase& c) { return mla_floor(c.shape, false, peaks); },
                          [&](const ExpertsCase& c) { return experts_floor(c, peaks); },
                          [&](const CollectiveShape& s) { return collective_floor(s, peaks); },
                      },
                      shape);
}

}  // namespace headroom
