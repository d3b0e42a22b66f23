// SPDX-License-Identifier: Apache-2.0
#include "validate/capacity_cases.h"

#include "base/diagnostic.h"
#include "memory/ledger.h"
#include "ops/tensor.h"
#include "spec/engine_version.h"
#include "validate/json_row.h"
#include "validate/serving_cases.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headroom {
namespace {

using Row = nlohmann::json;

/// A vision tower beside the language model, at 16 bits whatever the rest is quantized to.
struct Tower {
    bool present = false;
    double parameters = 0;  ///< 0: its config is not known here
};

struct Alias {
    const char* part;  ///< of the row's model, lower case; the first that fits wins
    const char* model;
    Tower tower{};
};

// Pixtral's: 24 layers of width 1024 (4 x 1024^2 + 3 x 1024 x 4096 each), patches 3 x 14 x 14, the merger of
// 2 x 2 patches and the projector to 5120.
constexpr double kPixtral = 24 * (4.0 * 1024 * 1024 + 3.0 * 1024 * 4096) + 3.0 * 14 * 14 * 1024 +
                            4096.0 * 1024 + 1024.0 * 5120 + 5120.0 * 5120;
// SigLIP so400m: 27 layers of width 1152 and 4304, patches 3 x 14 x 14, 729 positions; a projector of four
// layers' outputs to 2048.
constexpr double kGraniteVision = 27 * (4.0 * 1152 * 1152 + 2.0 * 1152 * 4304) + 3.0 * 14 * 14 * 1152 +
                                  729.0 * 1152 + 4.0 * 1152 * 2048 + 2048.0 * 2048;

/// Checkpoints and the catalogue's model of the same shape.
constexpr Alias kModels[] = {
    {"llama-3.3-70b", "llama-3.1-70b"},
    {"gemma-2-27b", "gemma-2-27b"},
    {"gemma-2-2b", "gemma-2-2b"},
    {"gemma-2-9b", "gemma-2-9b"},
    {"gemma-3-4b", "gemma-3-4b", {true}},
    {"granite-3.1-2b", "granite-3.1-2b"},
    {"granite-vision-3.3-2b", "granite-3.1-2b", {true, kGraniteVision}},
    {"granite-3.3-8b", "granite-3.3-8b"},
    {"llama-4-scout", "llama-4-scout", {true}},
    {"mistral-small-3", "mistral-small-3.1-24b", {true, kPixtral}},
    {"phi-2", "phi-2"},
    {"phi-4", "phi-4"},
    {"mixtral-8x7b", "mixtral-8x7b"},
    {"kimi-dev-72b", "qwen2.5-72b"},
    {"gpt-oss-20b", "gpt-oss-20b"},
    {"qwen2.5-72b", "qwen2.5-72b"},
    {"qwen2.5-math-1.5b", "qwen2.5-1.5b"},
    {"qwen3-30b-a3b", "qwen3-30b-a3b"},
    {"qwen3-14b", "qwen3-14b"},
    {"r1-distill-qwen-14b", "qwen2.5-14b"},
    {"r1-distill-qwen-7b", "qwen2.5-7b"},
    {"qwen3-8b", "qwen3-8b-fp8"},
    {"qwen2.5-7b", "qwen2.5-7b"},
    {"qwen3-32b", "qwen3-32b"},
    {"meta-llama-3-8b", "llama-3-8b"},
    {"qwen3-235b", "qwen3-235b-a22b-fp8"},
};

const Alias* alias_of(std::string name) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const Alias& a : kModels) {
        if (name.find(a.part) != std::string::npos) return &a;
    }
    return nullptr;
}

/// How the row's engine accounts for memory.
struct Accounting {
    std::string profile;
    bool v0 = false;     ///< profiles a whole prompt of the longest length
    std::string reason;  ///< why there is none
};

/// V0 has one accounting from 0.6.5 on (the logs of 0.6.4 that print the same lines count the same
/// increments); V1 by the version that a profile begins with.
Accounting accounting_of(const std::string& engine, bool divided, const Profiles& profiles) {
    if (!profiles.forced_engine.empty()) return {profiles.forced_engine, false, ""};
    if (engine.find("vLLM") == std::string::npos || engine.find("paper") != std::string::npos)
        return {"", false, "the engine is no released vLLM"};
    if (engine.find("fork") != std::string::npos || engine.find("metax") != std::string::npos ||
        engine.find("ROCm") != std::string::npos)
        return {"", false, "a fork or port of vLLM, whose accounting is not known"};
    std::vector<int> version;
    for (std::size_t at = 0; (at = engine.find("0.", at)) != std::string::npos; ++at) {
        if (at > 0 && std::isdigit(static_cast<unsigned char>(engine[at - 1])) != 0) continue;
        version = version_numbers(engine.substr(at));
        break;
    }
    if (version.size() < 2) return {"", false, "the row does not say which version"};
    const bool v0 = engine.find("V0") != std::string::npos;
    if (v0 || version < std::vector{0, 8}) {
        const bool known = divided || !(version < std::vector{0, 6, 5});
        return known ? Accounting{"vllm-0.6", true, ""}
                     : Accounting{"", true, "versions before 0.6.4 divided memory otherwise"};
    }
    if (version.size() > 1 && version[1] > 19)
        return {"", false,
                "later than every profile; by a switch such versions subtract a graph estimate or do not"};
    const std::string text = fmt::format("{}.{}", version[0], version[1]);
    return {profile_not_later(
                text, profiles.engine_versions ? profiles.engine_versions() : std::vector<ProfileSince>{}),
            false, "no profile of this engine version"};
}

/// The device, or one alike in what counts here: whether its GPUs have a link of their own. Its memory is
/// the row's.
std::string device_of(const std::string& hardware) {
    struct Device {
        const char* text;
        const char* profile;
    };
    constexpr Device devices[] = {
        {"H100 80GB", "h100-sxm"},   {"A100 40GB", "a100-sxm-40gb"}, {"8x L40S", "l40s"},
        {"4x L40S", "l40s"},         {"V100 32GB", "v100-32gb"},     {"H200", "h200"},
        {"2x RTX 4090", "rtx-4090"}, {"RTX 2080Ti", "l40s"},         {"4x 22GB GPU", "l40s"}};
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
    if (dtype == "int4(gptq)" || dtype == "int4(awq)") return "int4";
    return dtype == "mxfp4" ? std::optional<std::string>("") : std::nullopt;
}

void add(ValidateAnswer& answer, CapacityCase c) {
    c.error = c.predicted / c.measured - 1;
    answer.capacities.push_back(std::move(c));
}

/// Limits as the row gives them, else vLLM's defaults of that time (engine arguments documentation).
void set_limits(Engine& engine, const Row& row, const Accounting& accounting, Bytes device, double context) {
    Fact<double>& tokens = engine.scheduler.max_batched_tokens;
    if (accounting.v0) {
        // Without chunks a prompt is profiled whole; above 32 k tokens V0 turned chunks on by itself.
        tokens.value = context > 32768 ? 2048 : std::max(2048.0, context);
    } else if (device < 70 * GiB) {
        tokens.value = 2048;
        engine.scheduler.max_sequences.value = 256;
    }
    tokens.value = number_of(row, {"max_num_batched_tokens"}, tokens.value);
}

/// A log whose activation peak is twice or half what these limits explain was started with others. The peak
/// is all but the logits of every sequence, so it tells how many there were.
std::string other_limits(const Row& row, const Ledger& ledger, const Engine& engine, const Model& model) {
    const double peak = (number_of(row, {"activation_peak_gib"}) * GiB).base();
    const double own = ledger.activations.base();
    if (peak <= 0 || (peak < 2 * own && peak > 0.5 * own)) return "";
    const double copies = engine.memory.logits_copies.value * static_cast<double>(model.vocabulary) * 4;
    const double rest = own - copies * engine.scheduler.max_sequences.value;
    if (rest > 0.2 * own) return "";  // a peak of layers says nothing of how many sequences there were
    const double sequences = (peak - rest) / copies;
    return fmt::format(
        "the log's activation peak, {:.2f} GiB, is {:.1f} times that of a default start: it was started with "
        "{}, which the row does not give",
        number_of(row, {"activation_peak_gib"}), peak / own,
        sequences > 1 ? fmt::format("about {:.0f} sequences at once, or another token limit", sequences)
                      : "far fewer sequences at once");
}

/// Why the row cannot be predicted, or "".
std::string add_row(ValidateAnswer& answer, const Row& row, const std::string& where,
                    const Profiles& profiles) {
    const bool divided = row.contains("activation_peak_gib");
    const Accounting accounting = accounting_of(text_of(row, {"engine"}), divided, profiles);
    if (accounting.profile.empty()) return accounting.reason;
    if (accounting.v0 && text_of(row, {"model"}).find("DeepSeek") != std::string::npos &&
        text_of(row, {"model"}).find("Distill") == std::string::npos &&
        text_of(row, {"model"}).find("Qwen") == std::string::npos)
        return "V0 kept the latent cache padded to 640 or decompressed, which is not modelled";
    if (text_of(row, {"model"}).find("EAGLE") != std::string::npos) return "a draft model shares the memory";
    const Alias* alias = alias_of(text_of(row, {"model"}));
    if (alias == nullptr) return "no model of this shape in the catalogue";
    // Only the memory of the device matters here, and the row often says it.
    const double total = number_of(row, {"total_gpu_memory_gib"});
    const std::string device = profiles.hardware_or(device_of(text_of(row, {"hardware"})));
    if (device.empty() && total <= 0) return "the row does not say which device or how much memory it has";
    const auto weights = weights_of(text_of(row, {"weight_dtype"}));
    if (!weights) return "weights in a format that the row does not describe";

    Hardware hardware = profiles.hardware(device.empty() ? "h100-sxm" : device);
    if (total > 0 && profiles.forced_hardware.empty()) hardware.memory.capacity.value = total * GiB;
    Engine engine = profiles.engine(accounting.profile);
    engine.memory.utilisation.value =
        number_of(row, {"gpu_memory_utilization"}, engine.memory.utilisation.value);
    engine.memory.block_tokens.value = number_of(row, {"block_size"}, engine.memory.block_tokens.value);
    const double context = number_of(row, {"max_model_len"}, 8192);
    set_limits(engine, row, accounting, hardware.memory.capacity.value, context);
    Model model = profiles.model(alias->model);
    if (!weights->empty()) model = with_weight_format(std::move(model), *storage_format(*weights), false);
    Deployment deployment;
    deployment.tp = count_of(row, {"tp"}, 1);
    deployment.pp = count_of(row, {"pp"}, 1);
    Capacity c = headroom::capacity(shard(model, deployment), hardware, engine, context);
    const Bytes tower(2 * alias->tower.parameters / deployment.tp);
    const double left = (c.ledger.kv - tower) / c.ledger.kv;

    const std::string name =
        fmt::format("{} tp{} {}", text_of(row, {"model"}), deployment.tp, text_of(row, {"engine"}));
    const std::string unknown_tower = alias->tower.present && alias->tower.parameters <= 0
                                          ? "its vision tower is not part of the model"
                                          : "";
    if (const double gib = number_of(row, {"weights_gib"}); gib > 0) {
        add(answer, {name, accounting.profile + " weights", where, "bytes",
                     (c.ledger.weights + tower).in(byte), (gib * GiB).in(byte), 0, unknown_tower});
    }
    std::string doubt = unknown_tower;
    if (doubt.empty()) doubt = other_limits(row, c.ledger, engine, model);
    const std::string unit = text_of(row, {"unit"});
    const double value = number_of(row, {"value"});
    if (value > 0 && (unit == "tokens" || unit == "blocks")) {
        const double blocks = std::floor(static_cast<double>(c.blocks) * left);
        const double block = static_cast<double>(c.block_tokens);
        add(answer, {name, accounting.profile + " KV tokens", where, "tokens",
                     unit == "tokens" ? std::floor(blocks / c.groups) * block : blocks * block,
                     unit == "tokens" ? value : value * block, 0, doubt});
    } else if (value > 0 && unit == "GiB") {
        add(answer, {name, accounting.profile + " KV bytes", where, "bytes", (left * c.ledger.kv).in(byte),
                     (value * GiB).in(byte), 0, doubt});
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
        if (text_of(row, {"kind"}) != "kv_capacity") continue;
        const std::string where = fmt::format("{}:{}", file, number);
        const std::string reason = add_row(answer, row, where, profiles);
        if (!reason.empty())
            answer.notes.push_back(fmt::format("{} {} ({}): {}", where, text_of(row, {"model"}),
                                               text_of(row, {"engine"}), reason));
    }
    return any;
}

}  // namespace headroom
