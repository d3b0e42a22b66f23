// SPDX-License-Identifier: Apache-2.0
#include "validate/measured_json.h"

#include "base/diagnostic.h"
#include "perf/operator_time.h"
#include "validate/capacity_cases.h"

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

}  // namespace

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
    int place = 0;
    for (const Row& row : root.value("cases", Row::array())) {
        ++place;
        const auto op = operator_of(row);
        if (!op) {
            answer.notes.push_back(
                fmt::format("{}: case {} ({}) is no operator of a step", file, place, text(row, "operator")));
            continue;
        }
        MeasuredCase c;
        c.name = shape_of(row);
        c.group = hardware.name + " " + text(row, "operator");
        c.where = fmt::format("{}: case {}", file, place);
        c.predicted = operator_time(*op, hardware, {}).time;
        c.measured = Seconds(number(row, "median_s", 0));
        if (c.measured <= Seconds())
            refuse(file, fmt::format("cases[{}].median_s", place - 1), "must be above zero");
        c.error = c.predicted.expected / c.measured - 1;
        if (c.measured < c.predicted.floor)
            c.refused = "faster than the floor: its data must have stayed in a cache between repetitions";
        answer.cases.push_back(std::move(c));
    }
    return true;
}

}  // namespace headroom
