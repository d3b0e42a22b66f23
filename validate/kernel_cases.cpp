// SPDX-License-Identifier: Apache-2.0
#include "validate/kernel_cases.h"

#include "base/diagnostic.h"
#include "base/units.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace headroom {
namespace {

/// One row by column name; a cell that is no number is a located error.
class Row {
  public:
    Row(const CsvTable& table, std::size_t index, const std::string& file)
        : table_(table), index_(index), file_(file) {}

    const std::string& text(std::string_view name) const {
        static const std::string none;
        const int at = table_.column(name);
        return at < 0 ? none : table_.rows[index_][static_cast<std::size_t>(at)];
    }
    double number(std::string_view name) const {
        const auto parsed = parse_number(text(name));
        if (const double* value = std::get_if<double>(&parsed)) {
            return *value;
        }
        throw InputError({Diagnostic{{file_, table_.lines[index_], table_.column(name) + 1},
                                     std::string(name),
                                     "'" + text(name) + "' is not a number",
                                     ""}});
    }
    int line() const { return table_.lines[index_]; }

  private:
    const CsvTable& table_;
    std::size_t index_;
    const std::string& file_;
};

ProductKind product_kind(const std::string& dtype) {
    if (dtype == "fp8") {
        return ProductKind::Fp8;
    }
    if (dtype == "fp8_block") {
        return ProductKind::Fp8Block;
    }
    return dtype == "int4_wo" || dtype == "int8_wo" ? ProductKind::WeightOnly : ProductKind::Half;
}

bool eight_bit(ProductKind kind) { return kind == ProductKind::Fp8 || kind == ProductKind::Fp8Block; }

/// 4-bit weights in groups of 128 with a 16-bit scale each.
constexpr double int4_element = 0.5 + 2.0 / 128;

double weight_element(ProductKind kind) {
    return eight_bit(kind) ? 1 : kind == ProductKind::WeightOnly ? int4_element : 2;
}

KernelCase product_case(const Row& row) {
    ProductShape s;
    s.m = row.number("m");
    s.n = row.number("n");
    s.k = row.number("k");
    s.kind = product_kind(row.text("gemm_dtype"));
    s.weight_element = weight_element(s.kind);
    s.input_element = eight_bit(s.kind) ? 1 : 2;
    s.quantise_input = eight_bit(s.kind);
    return {fmt::format("{} {}x{}x{}", row.text("gemm_dtype"), s.m, s.n, s.k),
            fmt::format("products {}", to_string(s.kind)),
            s,
            {},
            0};
}

AttentionShape attention_shape(const Row& row) {
    AttentionShape s;
    s.sequences = row.number("batch_size");
    s.heads = row.number("num_heads");
    s.kv_heads = row.number("num_key_value_heads");
    s.qk_dim = s.v_dim = row.number("head_dim");
    s.cache_element = row.text("kv_cache_dtype") == "fp8" ? 1 : 2;
    s.residency = Residency::Warm;
    return s;
}

std::string attention_name(const AttentionShape& s, const std::string& dtype) {
    return fmt::format("{} b{} q{} c{} h{}/{}", dtype, s.sequences, s.query_tokens, s.context, s.heads,
                       s.kv_heads);
}

KernelCase decode_case(const Row& row) {
    AttentionShape s = attention_shape(row);
    s.context = row.number("isl") + row.number("step");
    s.schedule_kv_heads = 8;
    return {attention_name(s, row.text("kv_cache_dtype")), "decode attention", DecodeCase{s}, {}, 0};
}

KernelCase prefill_case(const Row& row) {
    AttentionShape s = attention_shape(row);
    s.query_tokens = row.number("isl");
    s.context = s.query_tokens + row.number("step");
    const std::string name = attention_name(s, row.text("kv_cache_dtype"));
    if (s.query_tokens <= 1) {  // one new token is a decode call
        s.schedule_kv_heads = 8;
        return {name, "decode attention", DecodeCase{s}, {}, 0};
    }
    return {name, "prefill attention", PrefillCase{s}, {}, 0};
}

KernelCase mla_case(const Row& row, bool decode) {
    MlaShape s;
    s.sequences = row.number("batch_size");
    s.heads = row.number("num_heads");
    s.query_tokens = decode ? 1 : row.number("isl");
    s.context = row.number("isl") + row.number("step");
    s.host_issued = true;
    s.host_issued8 = row.text("kernel_source") == "vllm_flashmla";
    const std::string name = fmt::format("{} {} b{} c{} h{}", row.text("kv_cache_dtype"),
                                         decode ? "decode" : "prefill", s.sequences, s.context, s.heads);
    return decode ? KernelCase{name, "MLA decode", MlaDecodeCase{s}, {}, 0}
                  : KernelCase{name, "MLA prefill", MlaPrefillCase{s}, {}, 0};
}

/// Shapes for which vLLM ships tuned tiles (experts here, inner width): the files named
/// `E=..,N=..,device_name=..[,dtype=..].json` in vllm-project/vllm, vllm/model_executor/layers/fused_moe/
/// configs. Only shapes of the tables were looked up; the folder's history may hold files that are newer than
/// the tables. Other shapes get the default tile, which is 2 to 3 times slower on large batches.
bool tuned_experts(const std::string& device, ProductKind kind, double experts, double inter) {
    using Shapes = std::set<std::pair<int, int>>;
    static const Shapes h100_half{{8, 1792},  {8, 2048},   {8, 3584},  {8, 4096},  {8, 7168},  {16, 768},
                                  {16, 2048}, {64, 768},   {64, 1536}, {128, 192}, {128, 384}, {128, 768},
                                  {128, 928}, {128, 1856}, {256, 128}, {256, 512}};
    static const Shapes h100_fp8{{8, 2048}, {8, 3584},  {8, 4096}, {8, 7168},
                                 {8, 8192}, {8, 14336}, {128, 768}};
    static const Shapes a100_half{{1, 14336}, {8, 1792}, {8, 2048}, {8, 3584},
                                  {8, 4096},  {8, 7168}, {128, 192}};
    const bool hopper = device.find("H100") != std::string::npos;
    const Shapes& shapes = !hopper ? a100_half : kind == ProductKind::Fp8 ? h100_fp8 : h100_half;
    return kind != ProductKind::Fp8Block &&
           shapes.count({static_cast<int>(experts), static_cast<int>(inter)}) > 0;
}

KernelCase experts_case(const Row& row) {
    ExpertsCase c;
    const std::string& distribution = row.text("distribution");
    const int experts = static_cast<int>(row.number("num_experts"));
    const int local = std::max(1, static_cast<int>(experts / row.number("moe_ep_size")));
    const int top_k = static_cast<int>(row.number("topk"));
    const double tokens = row.number("num_tokens");
    const double hidden = row.number("hidden_size");
    const double inter = row.number("inter_size") / row.number("moe_tp_size");
    c.routed_rows = tokens * top_k;
    GroupedShape& s = c.up;
    s.k = hidden;
    s.n = 2 * inter;
    s.kind = product_kind(row.text("moe_dtype"));
    s.weight_element = weight_element(s.kind);
    s.input_element = eight_bit(s.kind) ? 1 : 2;
    s.passed_rows = c.routed_rows;
    s.few_tokens = tokens <= local;
    s.tiles =
        tuned_experts(row.text("device"), s.kind, local, inter) ? ExpertTiles::tuned : ExpertTiles::plain;
    c.down = s;
    c.down.k = inter;
    c.down.n = hidden;
    constexpr std::string_view law = "power_law_";
    if (distribution.starts_with(law)) {
        const auto exponent = parse_number(distribution.substr(law.size()));
        const double* value = std::get_if<double>(&exponent);
        c.load = power_law_load(tokens, experts, local, top_k, value != nullptr ? *value : 1);
        c.least_hit =
            std::ceil(static_cast<double>(top_k) * local / experts);  // no expert has more rows than tokens
        c.least_rows = tokens * top_k * local / experts;
    } else {
        c.load = balanced_load(tokens, experts, local, top_k);
        c.least_hit = c.load.hit;
        c.least_rows = c.load.rows;
    }
    return {fmt::format("{} t{} {}x{} top{} of {} tp{} ep{} {}", row.text("moe_dtype"), tokens, hidden,
                        row.text("inter_size"), top_k, experts, row.text("moe_tp_size"),
                        row.text("moe_ep_size"), distribution),
            fmt::format("experts {}", to_string(s.kind)),
            c,
            {},
            0};
}

KernelCase collective_case(const Row& row) {
    CollectiveCase c;
    const std::string& op = row.text("op_name");
    const double element = row.text("nccl_dtype") == "half" ? 2 : 1;
    c.op.kind = op == "all_gather"       ? CollectiveKind::all_gather
                : op == "reduce_scatter" ? CollectiveKind::reduce_scatter
                : op == "alltoall"       ? CollectiveKind::all_to_all
                                         : CollectiveKind::all_reduce;
    c.op.bytes = row.number("message_size") * element * byte;
    c.op.gpus = static_cast<int>(row.number("num_gpus"));
    c.switch_reduces = element > 1;  // switches add 16 and 32-bit elements, not 8-bit ones
    return {fmt::format("{} {} n{} {}B", op, row.text("nccl_dtype"), c.op.gpus, c.op.bytes.base()),
            "collectives",
            c,
            {},
            0};
}

std::optional<KernelCase> table_case(const Row& row) {
    const std::string& op = row.text("op_name");
    if (op == "gemm") {
        return product_case(row);
    }
    if (op == "generation_attention") {
        return decode_case(row);
    }
    if (op == "context_attention") {
        return prefill_case(row);
    }
    if (op == "generation_mla" || op == "context_mla") {
        return mla_case(row, op == "generation_mla");
    }
    if (op == "moe") {
        return experts_case(row);
    }
    if (op == "all_reduce" || op == "all_gather" || op == "reduce_scatter" || op == "alltoall") {
        return collective_case(row);
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_string(ProductKind kind) {
    switch (kind) {
        case ProductKind::Half:
            return "half";
        case ProductKind::Fp8:
            return "fp8";
        case ProductKind::Fp8Block:
            return "fp8_block";
        case ProductKind::WeightOnly:
            return "weight_only";
    }
    return "";
}

std::optional<std::vector<KernelCase>> kernel_cases(const CsvTable& table, const std::string& file) {
    for (const char* name : {"framework", "device", "op_name", "kernel_source", "latency"}) {
        if (table.column(name) < 0) {
            return std::nullopt;
        }
    }
    std::vector<KernelCase> cases;
    cases.reserve(table.rows.size());
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const Row row(table, i, file);
        if (auto one = table_case(row)) {
            one->measured = row.number("latency") * ms;
            one->line = row.line();
            one->kernel = row.text("kernel_source");
            cases.push_back(std::move(*one));
        }
    }
    return cases;
}

}  // namespace headroom
