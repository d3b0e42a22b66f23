// SPDX-License-Identifier: Apache-2.0
#include "validate/mapping_counters.h"

#include "base/diagnostic.h"
#include "mapping/analysis.h"
#include "mapping/legality.h"
#include "tiled_product/product_cut.h"

#include <algorithm>

#include <fmt/format.h>

namespace headroom {
namespace {

using kernels::Case;
using kernels::CaseKind;

void set(Overrides& all, const char* name, int value) { all[name] = fmt::format("{}", value); }

/// Parts of the context that the kernel makes, or the next smaller count that cuts it evenly.
int even_parts(const Case& c, const Hardware& hardware, int granule) {
    int parts = 1;
    for (const kernels::DecodeItem& item : bundled_shape(c, hardware).schedule.items)
        parts = std::max(parts, item.parts);
    while (parts > 1 && c.context % (parts * granule) != 0) --parts;
    return parts;
}

std::optional<LaunchMapping> prefill_mapping(const Case& c) {
    if (c.query_heads != c.kv_heads) return std::nullopt;
    LaunchMapping m{c.op == CaseKind::kFlashAttention ? "attention-flash" : "attention-standard", {}};
    set(m.set, "h", c.batch * c.query_heads);
    set(m.set, "i", c.query_tokens);
    set(m.set, "j", c.context);
    set(m.set, "d", c.head_dim);
    return m;
}

std::optional<LaunchMapping> decode_mapping(const Case& c, const Hardware& hardware) {
    const bool paged = c.op == CaseKind::kPagedDecodeAttention;
    if (c.ragged || (paged && c.context % c.block_tokens != 0)) return std::nullopt;
    LaunchMapping m{paged ? "attention-paged" : "attention-decode-split", {}};
    set(m.set, "T", c.context);
    set(m.set, "C", even_parts(c, hardware, paged ? c.block_tokens : 1));
    set(m.set, "b", c.batch);
    set(m.set, "n", c.kv_heads);
    set(m.set, "g", c.query_heads / c.kv_heads);
    set(m.set, "d", c.head_dim);
    if (paged) set(m.set, "R", c.block_tokens);
    return m;
}

LaunchMapping mlp_mapping(const Case& c) {
    LaunchMapping m{std::string(c.gated ? "mlp-gated-" : "mlp-") + (c.fused ? "fused" : "unfused"), {}};
    set(m.set, "T", c.tokens);
    set(m.set, "H", c.hidden);
    set(m.set, "F", c.inner);
    return m;
}

LaunchMapping loss_mapping(const Case& c) {
    LaunchMapping m{c.fused ? "loss-fused" : "loss-unfused", {}};
    set(m.set, "T", c.tokens);
    set(m.set, "H", c.hidden);
    const int parts = kernels::loss_parts(c.vocabulary);
    set(m.set, "C", parts);
    set(m.set, "vocabulary", parts * kernels::kLossPartColumns);
    return m;
}

}  // namespace

std::optional<LaunchMapping> mapping_of(const Case& shape, const Hardware& hardware) {
    switch (shape.op) {
        case CaseKind::kStandardAttention:
        case CaseKind::kFlashAttention:
            return prefill_mapping(shape);
        case CaseKind::kDecodeAttention:
        case CaseKind::kPagedDecodeAttention:
            return decode_mapping(shape, hardware);
        case CaseKind::kMlp:
            return mlp_mapping(shape);
        case CaseKind::kLoss:
            return loss_mapping(shape);
        case CaseKind::kRead:
        case CaseKind::kWrite:
        case CaseKind::kCopy:
        case CaseKind::kSoftmax:
        case CaseKind::kWeightStream:
            return std::nullopt;
    }
    return std::nullopt;
}

std::optional<TrafficCount> traffic_count(const CountedLaunch& launch, const std::string& file,
                                          const Hardware& hardware, const Profiles& profiles) {
    const auto mapping = mapping_of(launch.shape, hardware);
    if (!mapping) return std::nullopt;
    TrafficCount c;
    c.name = kernels::describe(launch.shape);
    c.mapping = mapping->name;
    c.where = fmt::format("{}: counter {}", file, launch.place);
    const MappedComputation nest = profiles.mapping(mapping->name, mapping->set);
    for (const std::string& fault : mapping_faults(nest)) refuse(c.where, mapping->name, fault);
    const LevelTraffic hbm =
        analyse(nest, mapping_device(hardware)).levels[static_cast<std::size_t>(MemoryLevel::hbm)];
    c.predicted_reads = Bytes(static_cast<double>(hbm.reads_bytes));
    c.predicted_writes = Bytes(static_cast<double>(hbm.writes_bytes));
    c.counted_reads = launch.read;
    c.counted_writes = launch.written;
    c.drained = launch.drained;
    c.difference = c.counted() > Bytes() ? c.predicted() / c.counted() - 1 : 0;
    return c;
}

}  // namespace headroom
