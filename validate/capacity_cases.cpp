// SPDX-License-Identifier: Apache-2.0
#include "validate/capacity_cases.h"

#include "base/diagnostic.h"
#include "memory/ledger.h"
#include "ops/tensor.h"
#include "validate/serving_cases.h"

#include <cctype>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headroom {
namespace {

using Row = nlohmann::json;

std::string text_of(const Row& row, const char* key) {
    return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : "";
}

double number_of(const Row& row, const char* key, double otherwise) {
    return row.contains(key) && row[key].is_number() ? row[key].get<double>() : otherwise;
}

struct Alias {
    const char* part;  ///< of the row's model, lower case
    const char* model;
    bool tower = false;  ///< the checkpoint also holds a vision tower, which the model leaves out
};

/// Checkpoints and the catalogue's model of the same shape.
constexpr Alias kModels[] = {
    {"llama-3.3-70b", "llama-3.1-70b"},
    {"gemma-2-27b", "gemma-2-27b"},
    {"gemma-2-2b", "gemma-2-2b"},
    {"gemma-2-9b", "gemma-2-9b"},
    {"gemma-3-4b", "gemma-3-4b", true},
    {"granite-3.3-8b", "granite-3.3-8b"},
    {"llama-4-scout", "llama-4-scout", true},
    {"phi-2", "phi-2"},
    {"mixtral-8x7b", "mixtral-8x7b"},
    {"kimi-dev-72b", "qwen2.5-72b"},
    {"gpt-oss-20b", "gpt-oss-20b"},
    {"qwen2.5-72b", "qwen2.5-72b"},
    {"qwen3-30b-a3b", "qwen3-30b-a3b"},
    {"qwen3-8b", "qwen3-8b-fp8"},
    {"qwen2.5-7b", "qwen2.5-7b"},
    {"qwen3-32b", "qwen3-32b"},
    {"meta-llama-3-8b", "llama-3-8b"},
    {"qwen3-235b", "qwen3-235b-a22b-fp8"},
    {"r1-distill-qwen-7b", "qwen2.5-7b"},
};

const Alias* alias_of(std::string name) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const Alias& a : kModels) {
        if (name.find(a.part) != std::string::npos) return &a;
    }
    return nullptr;
}

/// The profile that a version's memory accounting is in, by the boundaries in the logs; "" for none.
std::string engine_of(const std::string& engine) {
    struct Version {
        const char* text;
        const char* profile;
    };
    constexpr Version versions[] = {{"0.19.", "vllm-0.19"}, {"0.18.", "vllm-0.19"}, {"0.17.", "vllm-0.19"},
                                    {"0.16.", "vllm-0.10"}, {"0.15.", "vllm-0.10"}, {"0.11.", "vllm-0.10"},
                                    {"0.10.", "vllm-0.10"}, {"0.6.", "vllm-0.6"}};
    for (const Version& v : versions) {
        if (engine.find(v.text) != std::string::npos) return v.profile;
    }
    return "";
}

std::string device_of(const std::string& hardware) {
    struct Device {
        const char* text;
        const char* profile;
    };
    constexpr Device devices[] = {{"H100 80GB", "h100-sxm"},
                                  {"A100 40GB", "a100-sxm-40gb"},
                                  {"L40S", "l40s"},
                                  {"V100 32GB", "v100-32gb"},
                                  {"H200", "h200"}};
    for (const Device& d : devices) {
        if (hardware.find(d.text) != std::string::npos) return d.profile;
    }
    return "";
}

/// Format of the linear weights; "" leaves the config's, nothing where it is not known here.
std::optional<std::string> weights_of(const std::string& dtype) {
    if (dtype == "bf16" || dtype == "bfloat16" || dtype == "float16" || dtype == "fp16") return "bf16";
    if (dtype == "fp8") return "fp8";
    if (dtype == "int8(w8a8)") return "int8";
    return dtype == "mxfp4" ? std::optional<std::string>("") : std::nullopt;
}

void add(ValidateAnswer& answer, CapacityCase c) {
    c.error = c.predicted / c.measured - 1;
    answer.capacities.push_back(std::move(c));
}

/// Why the row cannot be predicted, or "".
std::string add_row(ValidateAnswer& answer, const Row& row, const std::string& where,
                    const Profiles& profiles) {
    const Alias* alias = alias_of(text_of(row, "model"));
    if (alias == nullptr) return "no model of this shape in the catalogue";
    const std::string engine_name = engine_of(text_of(row, "engine"));
    if (engine_name.empty()) return "no profile of this engine version";
    const std::string device = device_of(text_of(row, "hardware"));
    if (device.empty()) return "no profile of this device";
    const auto weights = weights_of(text_of(row, "weight_dtype"));
    if (!weights) return "weights in a format that the row does not describe";

    Hardware hardware = profiles.hardware(device);
    hardware.memory.capacity.value =
        number_of(row, "total_gpu_memory_gib", hardware.memory.capacity.value.in(GiB)) * GiB;
    Engine engine = profiles.engine(engine_name);
    engine.memory.utilisation.value =
        number_of(row, "gpu_memory_utilization", engine.memory.utilisation.value);
    engine.scheduler.max_batched_tokens.value =
        number_of(row, "max_num_batched_tokens", engine.scheduler.max_batched_tokens.value);
    // vLLM's defaults on cards below 70 GiB (engine arguments documentation).
    if (hardware.memory.capacity.value < 70 * GiB && !row.contains("max_num_batched_tokens")) {
        engine.scheduler.max_batched_tokens.value = 2048;
        engine.scheduler.max_sequences.value = 256;
    }
    const std::string tower = alias->tower ? "the checkpoint's vision tower is not part of the model" : "";
    Model model = profiles.model(alias->model);
    if (!weights->empty()) model = with_weight_format(std::move(model), *storage_format(*weights), false);
    Deployment deployment;
    deployment.tp = static_cast<int>(number_of(row, "tp", 1));
    deployment.pp = static_cast<int>(number_of(row, "pp", 1));
    const double context = number_of(row, "max_model_len", 8192);
    const Capacity capacity = headroom::capacity(shard(model, deployment), hardware, engine, context);

    const std::string name =
        fmt::format("{} tp{} {}", text_of(row, "model"), deployment.tp, text_of(row, "engine"));
    if (const double gib = number_of(row, "weights_gib", 0); gib > 0) {
        add(answer, {name, engine_name + " weights", where, "bytes", capacity.ledger.weights.in(byte),
                     (gib * GiB).in(byte), 0, tower});
    }
    const std::string unit = text_of(row, "unit");
    const double value = number_of(row, "value", 0);
    if (value > 0 && (unit == "tokens" || unit == "blocks")) {
        const double predicted = unit == "tokens"
                                     ? static_cast<double>(capacity.capacity_tokens)
                                     : static_cast<double>(capacity.blocks * capacity.block_tokens);
        add(answer,
            {name, engine_name + " KV tokens", where, "tokens", predicted,
             unit == "tokens" ? value : value * static_cast<double>(capacity.block_tokens), 0, tower});
    } else if (value > 0 && unit == "GiB") {
        add(answer, {name, engine_name + " KV bytes", where, "bytes", capacity.ledger.kv.in(byte),
                     (value * GiB).in(byte), 0, tower});
    }
    return "";
}

}  // namespace

bool add_capacities(ValidateAnswer& answer, const std::string& text, const std::string& file,
                    const Profiles& profiles) {
    std::istringstream lines(text);
    int number = 0;
    bool any = false;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (line.empty()) continue;
        const Row row = Row::parse(line, nullptr, false);
        if (!row.is_object() || !row.contains("kind")) return any;
        any = true;
        if (text_of(row, "kind") != "kv_capacity") continue;
        const std::string where = fmt::format("{}:{}", file, number);
        const std::string reason = add_row(answer, row, where, profiles);
        if (!reason.empty())
            answer.notes.push_back(
                fmt::format("{} {} ({}): {}", where, text_of(row, "model"), text_of(row, "engine"), reason));
    }
    return any;
}

}  // namespace headroom
