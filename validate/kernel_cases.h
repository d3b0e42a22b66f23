// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "perf/attention_time.h"
#include "perf/collective_time.h"
#include "perf/experts_time.h"
#include "perf/product_time.h"
#include "validate/bundled/bundled_time.h"
#include "validate/csv.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace headroom {

/// A layer of experts: two grouped products and the activation between them.
struct ExpertsCase {
    GroupedShape up;
    GroupedShape down;
    ExpertLoad load;
    double routed_rows = 0;  ///< tokens x top_k, wherever their experts are
    double least_hit = 0;    ///< experts and rows that any draw of this load has: what the floor may count
    double least_rows = 0;
};
struct CollectiveCase {
    Collective op;
    bool switch_reduces = true;
};
struct DecodeCase {
    AttentionShape shape;
};
struct PrefillCase {
    AttentionShape shape;
};
struct MlaDecodeCase {
    MlaShape shape;
};
struct MlaPrefillCase {
    MlaShape shape;
};

using KernelShape = std::variant<ProductShape, DecodeCase, PrefillCase, MlaDecodeCase, MlaPrefillCase,
                                 ExpertsCase, CollectiveCase, BundledShape>;

/// One measured kernel call.
struct KernelCase {
    std::string name;   ///< the shape, readable and unique within its table
    std::string group;  ///< `products half`, `decode attention`, ...
    KernelShape shape;
    Seconds measured;
    int line = 0;
    std::string kernel{};  ///< which implementation, as the table names it
    /// Where a recording says what it is for: `calibration` to train a fit, `validation` to judge it; "" in
    /// tables, of which a random half trains.
    std::string suite{};
};

Seconds expected_time(const KernelShape& shape, const Ceilings& ceilings);

/// Datasheet floor. Of a call that is repeated (`Residency::Warm`), what L2 can hold need not come from
/// memory.
Seconds floor_time(const KernelShape& shape, const Peaks& peaks);

/// Rows of one of the kernel tables of the aiconfigurator project (columns `kernel_source`, `latency` in ms
/// and the shape), recognised by its header; nothing if the header is another. What the columns turn out to
/// mean, beyond their names:
/// - tokens of context are `isl + step`;
/// - the split schedule of the Hopper decode table was made for 8 kv heads, whatever the row's number;
/// - the MLA rows labelled with an 8-bit cache moved 16-bit bytes: their rate would be above the memory's
///   datasheet in neither reading, but it equals the 16-bit rows' to 5 %, with half the bytes it would not;
/// - MLA was timed outside a graph, so the host's issue time is its least;
/// - NCCL's message size counts elements.
std::optional<std::vector<KernelCase>> kernel_cases(const CsvTable& table, const std::string& file);

/// `half`, `fp8`, `fp8_block`, `weight_only`.
std::string_view to_string(ProductKind kind);

}  // namespace headroom
