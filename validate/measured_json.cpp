// SPDX-License-Identifier: Apache-2.0
#include "validate/measured_json.h"

#include "base/diagnostic.h"
#include "perf/operator_time.h"
#include "validate/capacity_cases.h"

#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headroom {
namespace {

using Row = nlohmann::json;

double number(const Row& row, const char* key, double otherwise) {
    return row.contains(key) && row[key].is_number() ? row[key].get<double>() : otherwise;
}

std::string text(const Row& row, const char* key) {
    return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : "";
}

/// Attention as in a step: every sequence has the mean number of cached tokens.
Operator attention(const Row& row, double fresh) {
    Attention op;
    const double batch = number(row, "batch", 1);
    const double context = number(row, "context_tokens", 1);
    const double cached = number(row, "cached_tokens", batch * context) / batch;
    op.groups = {{.sequences = batch, .fresh = fresh, .past = std::max(0.0, cached - fresh)}};
    op.heads = number(row, "query_heads", 1);
    op.kv_heads = number(row, "kv_heads", 1);
    op.key_dim = op.value_dim = number(row, "head_dim", 128);
    op.kv_per_token = BytesPerToken(op.kv_heads * 2 * op.key_dim * 2);
    op.stores_kv = false;
    return {"attention", op, 1};
}

/// The operator that a step would have; nothing for what no step has (a full, unfused or non-causal one).
std::optional<Operator> operator_of(const Row& row) {
    const std::string name = text(row, "operator");
    if (name == "decode_attention" || name == "paged_decode_attention") return attention(row, 1);
    if (name == "flash_attention" && row.value("causal", false))
        return attention(row, number(row, "query_tokens", 1));
    if (name == "weight_stream") {
        Matmul op{.rows = number(row, "batch", 1),
                  .outputs = number(row, "outputs", 1),
                  .inputs = number(row, "inputs", 1)};
        if (text(row, "dtype") == "fp8") op.weights = *storage_format("fp8");
        return Operator{"product", op, 1};
    }
    if (name == "read" || name == "write" || name == "copy") {
        Stream op;
        op.work.weights = (name == "copy" ? 2 : 1) * Bytes(number(row, "bytes", 0));
        return Operator{name, op, 1};
    }
    return std::nullopt;
}

std::string shape_of(const Row& row) {
    std::string shape = text(row, "operator");
    for (const auto& [key, value] : row.items()) {
        if (key == "operator" || key == "samples" || key == "noisy" || key.ends_with("_s")) continue;
        shape += fmt::format(" {} {}", key, value.is_string() ? value.get<std::string>() : value.dump());
    }
    return shape;
}

/// As the counters name a case: "paged_decode_attention bf16 b16 h32/8 d128 c8192 p16"; "" for what has no
/// name.
std::string counter_name(const Row& row) {
    const std::string op = text(row, "operator");
    const auto n = [&](const char* key) { return static_cast<long>(number(row, key, 0)); };
    const std::string start = fmt::format("{} {} b{}", op, text(row, "dtype"), n("batch"));
    if (op == "weight_stream") return fmt::format("{} {}x{}", start, n("inputs"), n("outputs"));
    if (!op.ends_with("attention")) return "";
    std::string name = fmt::format("{} h{}/{} d{}", start, n("query_heads"), n("kv_heads"), n("head_dim"));
    if (row.contains("query_tokens")) name += fmt::format(" q{}", n("query_tokens"));
    name += fmt::format(" c{}", n("context_tokens"));
    if (row.value("causal", false)) name += " causal";
    if (row.value("ragged", false)) name += " ragged";
    if (row.contains("block_tokens")) name += fmt::format(" p{}", n("block_tokens"));
    return name;
}

/// Bytes between the device's memory and its caches during one launch, by the name of the case.
std::map<std::string, Bytes> counted_bytes(const Row& root) {
    std::map<std::string, Bytes> counted;
    for (const Row& counter : root.value("counters", Row::array())) {
        Bytes& sum = counted[text(counter, "case")];
        for (const Row& kernel : counter.value("kernels", Row::array()))
            sum += Bytes(number(kernel, "read_bytes", 0) + number(kernel, "written_bytes", 0));
    }
    return counted;
}

std::optional<MeasuredCase> predicted(const Row& row, const Hardware& hardware) {
    const auto op = operator_of(row);
    if (!op) return std::nullopt;
    MeasuredCase c;
    c.name = shape_of(row);
    c.group = hardware.name + " " + text(row, "operator");
    c.predicted = operator_time(*op, hardware, {}).time;
    c.predicted_hbm = hbm_bytes(work(*op));
    return c;
}

}  // namespace

std::optional<MeasuredCase> predicted_case(const std::string& row, const Hardware& hardware) {
    return predicted(Row::parse(row), hardware);
}

void set_measured(MeasuredCase& c, Seconds measured) {
    c.measured = measured;
    c.error = c.predicted.expected / measured - 1;
    if (measured < c.predicted.floor)
        c.refused = "faster than the floor: its data must have stayed in a cache between repetitions";
}

bool add_measured_json(ValidateAnswer& answer, const std::string& json, const std::string& file,
                       const Profiles& profiles) {
    const Row root = Row::parse(json, nullptr, false);
    if (!root.is_object() || text(root, "schema") != "headroom.measured/1") {
        return add_capacities(answer, json, file, profiles);
    }
    const std::string device = root.contains("environment") ? text(root["environment"], "device") : "";
    const std::string name =
        !profiles.forced_hardware.empty() ? profiles.forced_hardware : device_profile(device, file);
    const Hardware hardware = profiles.hardware(name);
    const auto counted = counted_bytes(root);
    int place = 0;
    for (const Row& row : root.value("cases", Row::array())) {
        ++place;
        auto c = predicted(row, hardware);
        if (!c) {
            answer.notes.push_back(
                fmt::format("{}: case {} ({}) is no operator of a step", file, place, text(row, "operator")));
            continue;
        }
        c->where = fmt::format("{}: case {}", file, place);
        const Seconds measured(number(row, "median_s", 0));
        if (measured <= Seconds())
            refuse(file, fmt::format("cases[{}].median_s", place - 1), "must be above zero");
        set_measured(*c, measured);
        if (const auto at = counted.find(counter_name(row)); at != counted.end())
            c->measured_hbm = at->second;
        answer.cases.push_back(std::move(*c));
    }
    return true;
}

}  // namespace headroom
