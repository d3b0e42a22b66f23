// SPDX-License-Identifier: Apache-2.0
#include "validate/published_rates.h"

#include "base/diagnostic.h"
#include "memory/ledger.h"
#include "ops/tensor.h"
#include "validate/gguf.h"
#include "validate/json_row.h"
#include "validate/serving_cases.h"

#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headroom {
namespace {

using Row = nlohmann::json;

struct Name {
    const char* part;
    const char* profile;
};

std::string profile_of(const std::string& text, std::initializer_list<Name> names) {
    for (const Name& n : names) {
        if (text.find(n.part) != std::string::npos) return n.profile;
    }
    return "";
}

std::string device_of(const std::string& text) {
    return profile_of(text, {{"H200", "h200"},
                             {"H100", "h100-sxm"},
                             {"A100-SXM4-80GB", "a100-sxm-80gb"},
                             {"A100 SXM 80GB", "a100-sxm-80gb"},
                             {"A100 80GB SXM", "a100-sxm-80gb"},
                             {"A100-PCIE-80GB", "a100-pcie-80gb"},
                             {"L40S", "l40s"},
                             {"RTX A6000", "a6000"},
                             {"RTX 6000 Ada", "rtx-6000-ada"},
                             {"A40 ", "a40"},
                             {"3090 24GB", "rtx-3090"}});
}

std::string model_of(const std::string& text) {
    return profile_of(text, {{"Meta-Llama-3-8B", "llama-3-8b"},
                             {"Meta-Llama-3-70B", "llama-3-70b"},
                             {"LLaMA v3 70B", "llama-3-70b"},
                             {"LLaMA v3 8B", "llama-3-8b"},
                             {"LLaMA v3.1 70B", "llama-3.1-70b"},
                             {"LLaMA v3.1 8B", "llama-3.1-8b"},
                             {"LLaMA v3.1 405B", "llama-3.1-405b"},
                             {"Llama-3.1-405B", "llama-3.1-405b"},
                             {"Llama-3.1-70B", "llama-3.1-70b"},
                             {"Llama-3.1-8B", "llama-3.1-8b"},
                             {"Llama-2-70B", "llama-2-70b"},
                             {"Llama-2-7B", "llama-2-7b"},
                             {"Mixtral 8x7B", "mixtral-8x7b"},
                             {"Mixtral-8x7B", "mixtral-8x7b"},
                             {"Mixtral 8x22B", "mixtral-8x22b"},
                             {"LLaMA v2 7B", "llama-2-7b"},
                             {"LLaMA v2 70B", "llama-2-70b"}});
}

/// The model as the row's engine stores it; nothing for a format that is not known here.
std::optional<Model> stored(Model model, const std::string& dtype, bool gguf) {
    if (gguf) {
        const std::string type = gguf_type(dtype);
        return type.empty() ? std::nullopt : std::optional(with_gguf(std::move(model), type));
    }
    std::string name = dtype;
    if (dtype == "int4 (G=32)") name = "int4-g32";
    if (dtype == "int8") name = "int8-w";
    const auto format = storage_format(name);
    if (!format) return std::nullopt;
    return with_weight_format(std::move(model), *format, false);
}

struct Reading {
    ValidateAnswer& answer;
    const Profiles& profiles;
    std::map<std::string, Model> models{};
    std::map<std::string, Hardware> devices{};

    const Model& model(const std::string& name) {
        if (models.count(name) == 0) models.emplace(name, profiles.model(name));
        return models.at(name);
    }
    const Hardware& hardware(const std::string& name) {
        if (devices.count(name) == 0) devices.emplace(name, profiles.hardware(name));
        return devices.at(name);
    }
    void add(const Row& row, const std::string& group, const std::string& where,
             const TimeEstimate& predicted, double tokens, const std::string& not_counted) {
        MeasuredCase c;
        c.name = text_of(row, {"id"});
        c.group = group;
        c.where = where;
        c.predicted = predicted;
        c.tokens = tokens;
        c.measured = Seconds(tokens / number_of(row, {"value"}));
        c.error = predicted.expected / c.measured - 1;
        c.not_counted = not_counted;
        if (c.measured < predicted.floor)
            c.refused =
                "faster than its floor: another format or device than said, or part of the work left out";
        answer.cases.push_back(std::move(c));
    }
};

Deployment deployment_of(const Row& row) {
    Deployment d;
    d.tp = count_of(row, {"tp"}, 1);
    d.pp = count_of(row, {"pp"}, 1);
    return d;
}

/// Decoding and prefill of one request. Returns why the row cannot be predicted, or "".
std::string add_single(Reading& to, const Row& row, const std::string& where) {
    const std::string engine = text_of(row, {"engine"});
    const bool llama = engine.starts_with("llama.cpp"), forced = !to.profiles.forced_engine.empty();
    if (!llama && !forced && !engine.starts_with("gpt-fast")) return "no model of this engine";
    const std::string device = to.profiles.hardware_or(device_of(text_of(row, {"hardware"}))),
                      name = model_of(text_of(row, {"model"}));
    if (device.empty()) return "no profile of this device";
    if (name.empty()) return "no model of this shape in the catalogue";
    const auto model = stored(to.model(name), text_of(row, {"weight_dtype"}), llama);
    if (!model) return "weights in a format that is not known here";
    const Hardware& hardware = to.hardware(device);
    const Engine profile = to.profiles.engine(to.profiles.engine_or("ideal"));
    const Deployment deployment = deployment_of(row);
    for (const std::string& fault : deployment_faults(*model, deployment)) return fault;
    const Shard parts = shard(*model, deployment);
    const double input = number_of(row, {"input_tokens"}), output = number_of(row, {"output_tokens"});
    if (text_of(row, {"kind"}) == "prefill") {
        to.add(row, fmt::format("llama.cpp prefill {}", device), where,
               llama_cpp_prompt(parts, hardware, profile, input, 0, 0), input, kPromptsNotModelled);
        return "";
    }
    const double context = input + output / 2;
    if (!llama || forced) {
        to.add(row, fmt::format("{} {} tp{}", forced ? profile.name : "gpt-fast", device, deployment.tp),
               where, step_time(parts, decode_batch(1, std::max(1.0, context)), hardware, profile).time, 1,
               "");
        return "";
    }
    const bool fitted = name == "llama-3-8b" && deployment.pp == 1;
    to.add(row, fmt::format("llama.cpp {} {}", device, fitted ? "fitted rows" : "unseen rows"), where,
           single_stream_time(llama_cpp_law(), *model, parts, hardware, profile, context), 1, "");
    return "";
}

/// Throughput with every request sent at once: the batch is what memory or the scheduler allows.
std::string add_throughput(Reading& to, const Row& row, const std::string& where) {
    const bool known = text_of(row, {"engine"}).starts_with("TensorRT-LLM");
    if (!known && to.profiles.forced_engine.empty()) return "no profile of this engine";
    if (!row.contains("input_tokens") || !row.contains("output_tokens"))
        return "the row does not say how long its requests are";
    const std::string device = to.profiles.hardware_or(device_of(text_of(row, {"hardware"}))),
                      name = model_of(text_of(row, {"model"}));
    if (device.empty()) return "no profile of this device";
    if (name.empty()) return "no model of this shape in the catalogue";
    ServingRun run;
    run.engine = to.profiles.engine_or("trtllm");
    run.model = name;
    run.weights = text_of(row, {"weight_dtype"});
    run.kv = text_of(row, {"kv_dtype"});
    if (!storage_format(run.weights)) return "weights in a format that is not known here";
    if (!storage_format(run.kv)) run.kv.clear();
    run.input = number_of(row, {"input_tokens"}, 1);
    run.output = number_of(row, {"output_tokens"}, 1);
    run.concurrency = 1e6;
    run.deployment = deployment_of(row);
    for (const std::string& fault : deployment_faults(to.model(name), run.deployment)) return fault;
    Engine engine = to.profiles.engine(run.engine);
    const Hardware& hardware = to.hardware(device);
    const Shard parts = shard(served_model(run, to.model(name)), run.deployment);
    const Capacity room = capacity(parts, hardware, engine, run.input + run.output);
    if (room.max_sequences < 1) return "does not fit by the profile's memory, where it did run";
    run.concurrency = std::min(static_cast<double>(room.max_sequences), engine.scheduler.max_sequences.value);
    const ServingTimes t = serving_times(run, to.model(name), hardware, engine);
    const std::string group = to.profiles.forced_engine.empty() ? "trtllm 0.14" : engine.name;
    to.add(row, fmt::format("{} throughput {}", group, device), where, (1 / t.batch) * t.tpot, 1, "");
    return "";
}

}  // namespace

SingleStreamLaw llama_cpp_law() {
    // Mean absolute error 4.3 % on the 40 rows that were fitted.
    return {Seconds(79e-6), 0.87, 6.15, 0.264, 1.10};
}

TimeEstimate llama_cpp_prompt(const Shard& parts, const Hardware& hardware, const Engine& ideal,
                              double prompt, double cached, double micro_batch) {
    // Prompt tokens in one step unless told otherwise (n_ubatch).
    const double whole = micro_batch > 0 ? micro_batch : 512;
    double fastest = 0;
    for (const auto& [type, peak] : hardware.compute.dense) fastest = std::max(fastest, peak.value.base());
    TimeEstimate sum;
    for (double at = cached; at < cached + prompt; at += whole) {
        Batch batch;
        batch.groups = {{.sequences = 1, .fresh = std::min(whole, cached + prompt - at), .past = at}};
        const StepTime step = step_time(parts, batch, hardware, ideal);
        sum += step.time;
        sum.floor += std::max(compulsory_bytes(step.work) / hardware.memory.bandwidth.value,
                              Seconds(step.work.flop.base() / fastest)) -
                     step.time.floor;
    }
    sum.floor = (1.0 / parts.deployment.pp) * sum.floor;
    return sum;
}

TimeEstimate single_stream_time(const SingleStreamLaw& law, const Model& model, const Shard& parts,
                                const Hardware& hardware, const Engine& ideal, double context) {
    const StepTime step = step_time(parts, decode_batch(1, std::max(1.0, context)), hardware, ideal);
    const double bandwidth = hardware.memory.bandwidth.value.base();
    const double taken = law.per_clock * hardware.compute.sms.value * hardware.compute.clock.value.base();
    double reach = law.memory_share * bandwidth;
    if (taken > 0) reach = std::min(reach, taken);
    const double expected = static_cast<double>(model.layout.size()) * law.per_layer.base() +
                            step.work.weights.base() / reach +
                            step.work.kv.base() / (law.attention_share * bandwidth);
    TimeEstimate t;
    t.floor = step.time.floor;
    t.expected = std::max(t.floor, Seconds(expected));
    t.low = std::max(t.floor, (1 / law.spread) * t.expected);
    t.high = law.spread * t.expected;
    return t;
}

bool add_published_rates(ValidateAnswer& answer, const std::string& text, const std::string& file,
                         const Profiles& profiles) {
    std::istringstream lines(text);
    int number = 0;
    bool any = false;
    Reading to{answer, profiles};
    std::map<std::string, int> left_out;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (line.empty()) continue;
        const Row row = Row::parse(line, nullptr, false);
        const std::string kind = row.is_object() ? text_of(row, {"kind"}) : "";
        const bool single = kind == "decode_single_stream" || kind == "prefill" || kind == "decode_batched";
        if (!single && kind != "serving_throughput") return any;
        any = true;
        const std::string where = fmt::format("{}:{}", file, number);
        if (number_of(row, {"value"}) <= 0)
            throw InputError({Diagnostic{{file, number, 1}, "value", "must be above zero", ""}});
        const std::string reason = kind == "decode_batched" ? "per GPU and not per run"
                                   : single                 ? add_single(to, row, where)
                                                            : add_throughput(to, row, where);
        if (!reason.empty())
            ++left_out[fmt::format("{} on {}: {}", text_of(row, {"model"}), text_of(row, {"hardware"}),
                                   reason)];
    }
    for (const auto& [what, count] : left_out)
        answer.notes.push_back(fmt::format("{}: {} row{} of {}", file, count, count > 1 ? "s" : "", what));
    return any;
}

}  // namespace headroom
