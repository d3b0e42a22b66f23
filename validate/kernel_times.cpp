// SPDX-License-Identifier: Apache-2.0
#include "validate/kernel_cases.h"

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
double causal_pairs(double query, double context) {
    return query * (context - query) + query * (query + 1) / 2;
}

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
    const Bytes bytes =
        s.groups *
        (s.m * s.k * s.input_element + s.k * s.n * s.weight_element + s.m * s.n * s.output_element) * byte;
    return roof(max(Bytes(), bytes - peaks.l2), 2 * s.groups * s.m * s.n * s.k * flop,
                matrix_peak(peaks, s.kind), peaks);
}

Seconds experts_floor(const ExpertsCase& c, const Peaks& peaks) {
    const double matrix = c.up.n * c.up.k + c.down.n * c.down.k;
    const Bytes weights = c.least_hit * matrix * c.up.weight_element * byte;
    return roof(max(Bytes(), weights - peaks.l2), 2 * c.least_rows * matrix * flop,
                matrix_peak(peaks, c.up.kind), peaks);
}

Seconds experts_time(const ExpertsCase& c, const Ceilings& ceilings) {
    // The activation between the products: one pass over the wide rows, as a step's operator list has it.
    const Bytes activation = c.routed_rows * c.up.n * 2 * byte;
    return grouped_time(c.up, c.load, ceilings).total + activation / ceilings.memory_rate() +
           grouped_time(c.down, c.load, ceilings).total;
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
            [&](const ExpertsCase& c) { return experts_time(c, ceilings); },
            [&](const CollectiveCase& c) {
                return collective_time(c.op, ceilings, {.switch_reduces = c.switch_reduces});
            },
            [&](const BundledShape& s) { return bundled_time(s, ceilings); },
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
                          [&](const CollectiveCase& c) { return collective_floor(c.op, peaks); },
                          [&](const BundledShape& s) { return bundled_floor(s, peaks); },
                      },
                      shape);
}

}  // namespace headroom
