// SPDX-License-Identifier: Apache-2.0
#include "io/hf_quantization.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace headroom {
namespace {

StorageFormat named(const char* name) { return storage_format(name).value_or(StorageFormat{}); }

// "NVFP4" and the like, as ModelOpt names whole recipes.
std::optional<StorageFormat> modelopt_format(const std::string& algorithm, std::int64_t group) {
    static constexpr std::array kAlgorithms{
        std::pair{"FP8", "fp8"},
        std::pair{"FP8_PER_CHANNEL_PER_TOKEN", "fp8"},
        std::pair{"FP8_PB_WO", "fp8-block128-w"},
        std::pair{"MXFP8", "mxfp8"},
        std::pair{"NVFP4", "nvfp4"},
        std::pair{"NVFP4_AWQ", "nvfp4"},
        std::pair{"W4A16_NVFP4", "nvfp4-w"},
        std::pair{"MXFP4", "mxfp4"},
        std::pair{"W4A16_AWQ", "int4-g128"},
        std::pair{"W4A8_AWQ", "int4-g128"},
        std::pair{"INT8_SQ", "int8"},
    };
    for (const auto& [known, format] : kAlgorithms) {
        if (algorithm != known) continue;
        StorageFormat found = named(format);
        if (group > 0 && found.group > 0 && found.group_rows == 1) found.group = static_cast<int>(group);
        return found;
    }
    return std::nullopt;
}

void add_modelopt_algorithm(JsonMap& q, QuantRules& rules, const std::string& algorithm,
                            std::vector<std::string> targets, std::int64_t group) {
    const auto format = modelopt_format(algorithm, group);
    if (!format) {
        q.fault("quant_algo", fmt::format("\"{}\" is not understood", algorithm));
        return;
    }
    rules.rules.push_back({std::move(targets), *format});
}

// Key-value cache: {"num_bits": 8, "type": "float"} or a bare name.
void read_kv_scheme(JsonMap& q, QuantRules& rules) {
    for (const auto* key : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
        const JsonValue* scheme = q.raw(key);
        if (scheme == nullptr) continue;
        if (scheme->kind == JsonValue::Kind::text) {
            if (scheme->text == "FP8")
                rules.kv = named("fp8");
            else if (scheme->text == "NVFP4")
                rules.kv = named("nvfp4");
            else if (scheme->text == "INT8")
                rules.kv = named("int8");
            else if (!scheme->text.empty())
                q.fault(key, fmt::format("\"{}\" is not understood", scheme->text));
        } else if (auto map = q.map(key)) {
            const auto bits = map->count_or({"num_bits"}, 8);
            if (bits != 8) map->fault("num_bits", fmt::format("a cache of {} bits is not understood", bits));
            rules.kv = named(map->text({"type"}, "float") == "int" ? "int8" : "fp8");
        }
    }
}

void read_modelopt(JsonMap& q, QuantRules& rules) {
    rules.head = true;
    const std::string algorithm = q.text({"quant_algo"}, "");
    for (const auto* key : {"ignore", "exclude_modules"}) {
        for (const std::string& pattern : q.maybe_texts({key}).value_or(std::vector<std::string>{}))
            rules.ignored.push_back(pattern);
    }
    read_kv_scheme(q, rules);
    q.ignore("config_groups");
    q.ignore("producer");
    if (algorithm != "MIXED_PRECISION") {
        add_modelopt_algorithm(q, rules, algorithm, {"Linear"}, q.count_or({"group_size"}, 0));
        return;
    }
    const JsonValue* layers = q.raw("quantized_layers");
    if (layers == nullptr || layers->kind != JsonValue::Kind::map) {
        q.fault("quantized_layers", "missing, though the precision is mixed");
        return;
    }
    // One rule for each algorithm, with all the modules that it names; of experts the first stands for all.
    std::vector<std::pair<std::string, std::vector<std::string>>> by_algorithm;
    for (const JsonMember& layer : layers->members) {
        std::string recipe;
        for (const JsonMember& member : layer.value.members) {
            if (member.key == "quant_algo") recipe = member.value.text;
        }
        auto at = std::find_if(by_algorithm.begin(), by_algorithm.end(),
                               [&](const auto& entry) { return entry.first == recipe; });
        if (at == by_algorithm.end()) at = by_algorithm.insert(by_algorithm.end(), {recipe, {}});
        const auto experts = layer.key.find(".experts.");
        if (experts == std::string::npos || layer.key.compare(experts + 9, 2, "0.") == 0)
            at->second.push_back(layer.key);
    }
    for (auto& [recipe, modules] : by_algorithm)
        add_modelopt_algorithm(q, rules, recipe, std::move(modules), 0);
}

// compressed-tensors: groups of targets, each with the weights' and the inputs' numbers.
StorageFormat group_format(JsonMap& group, const std::string& packing) {
    StorageFormat f;
    auto weights = group.map("weights");
    if (!weights) {
        group.fault("weights", "missing");
        return f;
    }
    const auto bits = weights->count({"num_bits"});
    const bool floating = weights->text({"type"}, "int") == "float";
    const std::string strategy = weights->text({"strategy"}, "");
    const auto size = weights->count_or({"group_size"}, 0);
    const bool symmetric = weights->flag({"symmetric"}, true);
    const bool by_exponent = packing.find("mxfp") != std::string::npos;
    if (bits == 8)
        f.element = floating ? ElementType::fp8 : ElementType::int8;
    else if (bits == 4)
        f.element = floating ? ElementType::fp4 : ElementType::int4;
    else
        weights->fault("num_bits", fmt::format("weights of {} bits are not understood", bits));
    f.weight_only = !group.has("input_activations");
    f.group = static_cast<int>(size);
    if (const JsonValue* block = weights->raw("block_structure");
        block != nullptr && block->items.size() == 2) {
        f.group_rows = static_cast<int>(block->items[0].whole.value_or(128));
        f.group = static_cast<int>(block->items[1].whole.value_or(128));
        f.scale_bits = 32;
    } else if (f.group > 0) {
        f.scale_bits = floating && bits == 4 ? 8 : by_exponent ? 8 : 16;
        f.zero_bits = symmetric ? 0 : static_cast<int>(bits);
    }
    for (const auto* key : {"actorder", "dynamic", "observer", "observer_kwargs", "scale_dtype", "zp_dtype"})
        weights->ignore(key);
    for (const auto* key : {"input_activations", "output_activations"}) group.ignore(key);
    return f;
}

void read_compressed_tensors(JsonMap& q, QuantRules& rules) {
    rules.head = true;
    const std::string packing = q.text({"format"}, "");
    rules.ignored = q.maybe_texts({"ignore"}).value_or(std::vector<std::string>{});
    read_kv_scheme(q, rules);
    auto groups = q.map("config_groups");
    if (!groups) {
        q.fault("config_groups", "missing");
        return;
    }
    for (const JsonMember& member : groups->members()) {
        auto group = groups->map(member.key);
        if (!group) continue;
        const std::string own = group->text({"format"}, packing);
        QuantRules::Rule rule{group->maybe_texts({"targets"}).value_or(std::vector<std::string>{"Linear"}),
                              {}};
        rule.format = group_format(*group, own);
        rules.rules.push_back(std::move(rule));
    }
    for (const auto* key : {"quantization_status", "global_compression_ratio", "version", "sparsity_config"})
        q.ignore(key);
}

void read_fp8(JsonMap& q, QuantRules& rules) {
    StorageFormat f = named("fp8");
    if (const auto block = q.maybe_counts({"weight_block_size"}); block && block->size() == 2) {
        f.group_rows = static_cast<int>((*block)[0]);
        f.group = static_cast<int>((*block)[1]);
        f.scale_bits = 32;
    }
    for (const auto* key : {"activation_scheme", "fmt", "scale_fmt", "dequantize", "activation_scale_ub"})
        q.ignore(key);
    rules.rules.push_back({{"Linear"}, f});
}

// AWQ and GPTQ: whole numbers in groups with fp16 scales and packed zero points. GPTQ stores zero points
// even where they are all the same.
void read_integer_groups(JsonMap& q, QuantRules& rules, bool zero_points) {
    const auto bits = q.count({"bits", "w_bit"});
    const JsonValue* size = q.raw(q.has("group_size") ? "group_size" : "q_group_size");
    const std::int64_t group = size != nullptr ? size->whole.value_or(128) : 128;
    StorageFormat f{.element = bits == 8 ? ElementType::int8 : ElementType::int4};
    if (bits != 4 && bits != 8) q.fault("bits", fmt::format("weights of {} bits are not understood", bits));
    if (group > 0) {
        f.group = static_cast<int>(group);
        f.scale_bits = 16;
        f.zero_bits = zero_points ? static_cast<int>(bits) : 0;
    }
    rules.head = q.flag({"lm_head"}, false);
    for (const auto* key :
         {"desc_act", "sym", "damp_percent", "static_groups", "true_sequential", "version",
          "checkpoint_format", "meta", "model_name_or_path", "model_file_base_name", "pack_dtype"})
        q.ignore(key);
    rules.rules.push_back({{"Linear"}, f});
}

void read_bitsandbytes(JsonMap& q, QuantRules& rules) {
    const bool four = q.flag({"load_in_4bit", "_load_in_4bit"}, false);
    const bool doubled = q.flag({"bnb_4bit_use_double_quant"}, false);
    rules.rules.push_back({{"Linear"}, named(!four ? "int8" : doubled ? "nf4-dq" : "nf4")});
    q.maybe_flag({"load_in_8bit", "_load_in_8bit"});
    for (const std::string& module :
         q.maybe_texts({"llm_int8_skip_modules"}).value_or(std::vector<std::string>{}))
        rules.ignored.push_back(module);
}

void read_method(JsonMap& q, QuantRules& rules) {
    std::string method = q.text({"quant_method"}, "");
    if (method.empty() && q.has("quant_algo")) method = "modelopt";
    for (const std::string& module :
         q.maybe_texts({"modules_to_not_convert"}).value_or(std::vector<std::string>{}))
        rules.ignored.push_back(module);
    if (method == "fp8" || method == "fbgemm_fp8")
        read_fp8(q, rules);
    else if (method == "awq")
        read_integer_groups(q, rules, q.flag({"zero_point"}, true));
    else if (method == "gptq")
        read_integer_groups(q, rules, true);
    else if (method == "bitsandbytes")
        read_bitsandbytes(q, rules);
    else if (method == "compressed-tensors")
        read_compressed_tensors(q, rules);
    else if (method == "modelopt")
        read_modelopt(q, rules);
    else if (method == "mxfp4") {
        rules.rules.push_back({{"Linear"}, named("mxfp4")});
        rules.experts_only = true;
    } else {
        q.fault("quant_method", method.empty() ? "missing" : fmt::format("\"{}\" is not understood", method),
                did_you_mean(method, std::vector<std::string>{"fp8", "awq", "gptq", "bitsandbytes",
                                                              "compressed-tensors", "modelopt", "mxfp4"}));
    }
}

}  // namespace

void read_quantization(JsonMap& root, JsonMap& decoder, const std::string& extra, Model& model,
                       std::vector<std::string>& notes) {
    QuantRules rules;
    const std::string type = decoder.text({"model_type"}, root.text({"model_type"}, ""));
    JsonMap& owner = decoder.has("quantization_config") ? decoder : root;
    if (auto q = owner.map("quantization_config")) {
        read_method(*q, rules);
    } else if (!extra.empty()) {
        Faults faults("hf_quant_config.json");
        const JsonValue document = parse_json(extra, faults);
        JsonMap outer = JsonMap::root(document, faults);
        if (auto inner = outer.map("quantization")) read_modelopt(*inner, rules);
        faults.finish();
        notes.emplace_back("stored as the hf_quant_config.json beside it says");
    }
    // DeepSeek-V4 keeps its experts in 4 bits beside FP8.
    const std::string experts = decoder.text({"expert_dtype"}, "");
    if (experts == "fp4") {
        rules.expert = named("mxfp4");
    } else if (!experts.empty() && experts != "fp8") {
        decoder.fault("expert_dtype", fmt::format("\"{}\" is not understood", experts));
    }
    model.kv_format = rules.kv;
    if (!rules.rules.empty() && !root.any_fault()) apply_quantization(rules, type, model);
}

}  // namespace headroom
