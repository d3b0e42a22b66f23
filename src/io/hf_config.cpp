// SPDX-License-Identifier: Apache-2.0
#include "io/hf_family.h"
#include "io/hf_keys.h"
#include "io/hf_quantization.h"
#include "io/model_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <fmt/core.h>

namespace headroom {
namespace fs = std::filesystem;
namespace {

const HfFamily* find_family(std::string_view type) {
    for (const auto families : hf_families()) {
        for (const HfFamily& family : families) {
            if (family.model_type == type) return &family;
        }
    }
    return nullptr;
}

std::vector<std::string> known_types() {
    std::vector<std::string> types;
    for (const auto families : hf_families()) {
        for (const HfFamily& family : families) types.emplace_back(family.model_type);
    }
    return types;
}

// The mapping that describes the decoder: the file itself, or what a wrapper for images or sound holds.
JsonMap decoder_of(JsonMap& root) {
    for (const auto* key : {"text_config", "language_config", "llm_config"}) {
        if (root.has(key)) {
            if (auto nested = root.map(key)) return *nested;
        }
    }
    if (root.has("thinker_config")) {
        if (auto thinker = root.map("thinker_config")) return decoder_of(*thinker);
    }
    return root;
}

// A wrapper's type decides where the decoder has none of its own; LLaVA wraps LLaMA unless it says otherwise.
std::string type_of(JsonMap& root, JsonMap& decoder) {
    const std::string outer = root.text({"model_type"}, "");
    const std::string inner = decoder.text({"model_type"}, "");
    return inner.empty() ? outer : inner;
}

ElementType activation_of(JsonMap& root, JsonMap& decoder, std::vector<std::string>& notes) {
    std::string type = decoder.text({"torch_dtype", "dtype", "params_dtype"}, "");
    if (type.empty()) type = root.text({"torch_dtype", "dtype"}, "");
    if (type == "float16" || type == "half") return ElementType::fp16;
    if (type == "float32") {
        notes.emplace_back("published at 32 bits; engines serve it at 16, which is what is counted");
        return ElementType::fp16;
    }
    if (!type.empty() && type != "bfloat16" && type != "auto")
        root.fault("torch_dtype", fmt::format("\"{}\" is none of bfloat16, float16, float32", type));
    return ElementType::bf16;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// "ORG/MODEL" from the config, or from a folder named ORG--MODEL (the hub's cache has models--ORG--MODEL).
std::string repository_of(JsonMap& root, const std::string& path) {
    std::string folder = fs::path(path).parent_path().filename().string();
    if (folder.rfind("models--", 0) == 0) folder = folder.substr(8);
    if (const auto at = folder.find("--"); at != std::string::npos) return folder.replace(at, 2, "/");
    const std::string named = root.text({"_name_or_path"}, "");
    const bool repository =
        std::count(named.begin(), named.end(), '/') == 1 && named.front() != '/' && named.front() != '.';
    return repository ? named : "";
}

std::string name_of(const std::string& repository, const std::string& path) {
    if (!repository.empty()) return lower(repository.substr(repository.find('/') + 1));
    const fs::path file(path);
    const std::string folder = file.parent_path().filename().string();
    return lower(file.stem() == "config" && !folder.empty() ? folder : file.stem().string());
}

// Embedding and reward models are published as the decoder alone ("MistralModel") or with another head. Names
// such as GPT2LMHeadModel and ChatGLMModel have the usual one.
bool makes_logits(JsonMap& root) {
    const auto classes = root.maybe_texts({"architectures"}).value_or(std::vector<std::string>{});
    const auto has_head = [](const std::string& name) {
        if (name.find("LM") != std::string::npos) return true;
        for (const std::string_view other :
             {"Model", "ForSequenceClassification", "ForTokenClassification"}) {
            if (name.size() > other.size() && name.substr(name.size() - other.size()) == other) return false;
        }
        return true;
    };
    return classes.empty() || std::any_of(classes.begin(), classes.end(), has_head);
}

void note_towers(JsonMap& root, std::vector<std::string>& notes) {
    for (const auto* key : {"vision_config", "visual", "img_processor", "mm_vision_tower", "audio_config",
                            "gen_vision_config", "vision_tower"}) {
        if (root.has(key)) {
            notes.emplace_back("the towers for images or sound and their projectors are not counted");
            return;
        }
    }
}

// Faults the keys that change the answer and were not understood; the rest is listed.
void sort_unused(JsonMap& root, JsonMap& decoder, bool wrapped, bool complete,
                 std::vector<std::string>& unused_keys) {
    const std::vector<std::string> absent = decoder.absent();
    for (const JsonMap::Unused& u : root.unused()) {
        unused_keys.push_back(u.path);
        if (root.faulted(u)) continue;  // its name was taken for a slip, or it is given twice
        // Of a wrapper only the decoder's own keys matter.
        if (wrapped && u.path.rfind(decoder.path_of(""), 0) != 0) continue;
        const std::string& key = u.member->key;
        if (key_is_harmless(key) || value_is_inert(u.member->value)) continue;
        const std::string meant = key_meant(key, absent);
        if (!meant.empty()) {
            root.fault(u, "unknown key", meant);
        } else if (complete && key_changes_the_answer(key)) {
            root.fault(u, "not understood for this model type, and its name says that it changes the answer");
        }
    }
}

}  // namespace

ReadModel read_hf_config(const std::string& path, const std::string& text,
                         const std::string& extra_quantization) {
    Faults faults(path);
    const JsonValue document = parse_json(text, faults);
    JsonMap root = JsonMap::root(document, faults);
    JsonMap decoder = decoder_of(root);
    const bool wrapped = !decoder.path_of("").empty();
    const std::string type = type_of(root, decoder);
    for (const HfRefusal& refusal : hf_refusals()) {
        if (refusal.model_type == type)
            refuse(path, "model_type", fmt::format("\"{}\": {}", type, refusal.reason));
    }
    if (root.flag({"is_encoder_decoder"}, false))
        refuse(path, "is_encoder_decoder", "encoder-decoder models are not modelled, only decoders");
    const HfFamily* family = find_family(type);
    if (family == nullptr) {
        root.fault(
            "model_type",
            type.empty() ? "missing" : fmt::format("\"{}\" is not a model type that is understood", type),
            did_you_mean(type, known_types()));
        faults.finish();
    }
    HfReading reading{decoder, root, {}, {}};
    Model& m = reading.model;
    const std::string repository = repository_of(root, path);
    m.name = name_of(repository, path);
    m.source = repository;
    m.activation = activation_of(root, decoder, reading.notes);
    m.formats = uniform_formats({.element = m.activation});
    family->read(reading);
    m.head = makes_logits(root);
    // transformers ties by the decoder's flag, wrappers often say it outside only.
    if (wrapped && !decoder.has("tie_word_embeddings"))
        m.tied_embeddings = root.flag({"tie_word_embeddings"}, m.tied_embeddings);
    else
        root.ignore("tie_word_embeddings");
    if (!faults.any()) read_quantization(root, decoder, extra_quantization, m, reading.notes);
    note_towers(root, reading.notes);
    ReadModel result;
    sort_unused(root, decoder, wrapped, reading.complete, result.unused_keys);
    faults.finish();
    result.model = std::move(m);
    result.notes = std::move(reading.notes);
    return result;
}

ReadModel read_model(const std::string& path, const Overrides& overrides) {
    const fs::path given(path);
    const std::string file = fs::is_directory(given) ? (given / "config.json").string() : path;
    if (fs::is_directory(given) && !fs::exists(file)) refuse(path, "", "the folder holds no config.json");
    const std::string text = read_file(file);
    const auto first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    const bool json = fs::path(file).extension() == ".json" ||
                      (first != std::string::npos && (text[first] == '{' || text[first] == '['));
    if (!json) {
        ReadModel result;
        result.model = read_model_yaml(file, text, overrides);
        return result;
    }
    const fs::path beside = fs::path(file).parent_path() / "hf_quant_config.json";
    ReadModel result = read_hf_config(file, text, fs::exists(beside) ? read_file(beside.string()) : "");
    // A what-if names fields of our YAML, so the model goes through it.
    if (!overrides.empty()) result.model = read_model_yaml(file, write_model_yaml(result.model), overrides);
    return result;
}

}  // namespace headroom
