// SPDX-License-Identifier: Apache-2.0
#include "io/hf_family.h"
#include "io/hf_quantization.h"

#include <algorithm>
#include <map>
#include <regex>

namespace headroom {
namespace {

// '*' stands for any text.
bool glob(std::string_view pattern, std::string_view text) {
    std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            mark = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p, ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

std::string from_layers(const std::string& name) {
    const auto at = name.find("layers.");
    const bool prediction = name.rfind("mtp", 0) == 0;
    return at == std::string::npos || prediction ? name : name.substr(at);
}

bool is_prefixed(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

// One module of each role, under the names that checkpoints of this type give it. The first that a rule
// names decides.
std::map<Role, std::vector<std::string>> modules_of(const Layer& layer, const std::string& type) {
    std::map<Role, std::vector<std::string>> names;
    if (std::holds_alternative<StateSpace>(layer.mixer))
        names[Role::attention] = {"mixer.in_proj", "mamba.in_proj"};
    else if (std::holds_alternative<LinearAttention>(layer.mixer))
        names[Role::attention] = {"linear_attn.in_proj_qkv", "linear_attn.in_proj_qkvz", "self_attn.q_proj",
                                  "self_attn.qkv_proj", "conv.in_proj"};
    else if (std::holds_alternative<LatentAttention>(layer.mixer))
        names[Role::attention] = {"self_attn.o_proj", "self_attn.kv_a_proj_with_mqa"};
    else if (std::holds_alternative<CompressedAttention>(layer.mixer))
        names[Role::attention] = {"attn.wq_b", "self_attn.wq_b"};
    else if (!std::holds_alternative<NoMixer>(layer.mixer))
        names[Role::attention] = {"self_attn.q_proj", "self_attn.qkv_proj", "mixer.q_proj", "attention.wqkv"};
    if (std::holds_alternative<DenseFeedForward>(layer.feed_forward))
        names[Role::ffn] = {"mlp.gate_proj", "mlp.up_proj", "mlp.gate_up_proj", "mixer.up_proj",
                            "feed_forward.w1"};
    const auto* moe = std::get_if<MixtureOfExperts>(&layer.feed_forward);
    if (moe == nullptr) return names;
    const bool gemma = is_prefixed(type, "gemma4");
    names[Role::expert] = {"block_sparse_moe.experts.0.w1", "mixer.experts.0.up_proj", "experts.0.gate_proj",
                           "experts.gate_up_proj"};
    if (!gemma) {
        for (const auto* name : {"mlp.experts.0.gate_proj", "mlp.experts.gate_up_proj", "mlp.experts"})
            names[Role::expert].emplace_back(name);
    }
    if (moe->latent > 0) names[Role::ffn] = {"mixer.fc1_latent_proj"};
    if (moe->shared_intermediate == 0) return names;
    if (gemma)
        names[Role::shared_expert] = {"mlp.gate_proj"};
    else
        names[Role::shared_expert] = {"mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj",
                                      "block_sparse_moe.shared_experts.gate_proj",
                                      "mixer.shared_experts.up_proj"};
    return names;
}

class RuleBook {
  public:
    RuleBook(const QuantRules& rules, StorageFormat plain) : rules_(rules), plain_(plain) {}

    // Ignored when any spelling is; a rule fits when it names any spelling or every product.
    StorageFormat of(const std::vector<std::string>& modules) const {
        const auto named_by = [&](const std::vector<std::string>& patterns) {
            return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
                return std::any_of(modules.begin(), modules.end(),
                                   [&](const std::string& module) { return names_module(pattern, module); });
            });
        };
        if (named_by(rules_.ignored)) return plain_;
        for (const QuantRules::Rule& rule : rules_.rules) {
            const bool every =
                std::find(rule.targets.begin(), rule.targets.end(), "Linear") != rule.targets.end();
            if (every || named_by(rule.targets)) return rule.format;
        }
        return plain_;
    }

    std::map<Role, StorageFormat> of_layer(const Layer& layer, const std::string& type,
                                           const std::string& prefix) const {
        std::map<Role, StorageFormat> formats;
        for (const auto& [role, names] : modules_of(layer, type)) {
            if (rules_.experts_only && role != Role::expert) continue;
            std::vector<std::string> modules;
            for (const std::string& name : names) modules.push_back(prefix + name);
            formats[role] = of(modules);
            if (role == Role::expert && rules_.expert) formats[role] = *rules_.expert;
        }
        return formats;
    }

  private:
    const QuantRules& rules_;
    StorageFormat plain_;
};

using RoleFormats = std::map<Role, StorageFormat>;

// For each role the format that most layers have.
Formats common_formats(const std::vector<RoleFormats>& layers, const StorageFormat& plain) {
    Formats common = uniform_formats(plain);
    for (const auto& [role, name] : kRoles) {
        std::map<std::string, int> uses;
        int most = 0;
        for (const RoleFormats& layer : layers) {
            const auto at = layer.find(role);
            if (at == layer.end()) continue;
            const int n = ++uses[to_string(at->second)];
            if (n > most) {
                most = n;
                common[role] = at->second;
            }
        }
    }
    return common;
}

Layer stored_as(Layer layer, const RoleFormats& roles, const Formats& common) {
    Formats own = common;
    std::string suffix;
    for (const auto& [role, format] : roles) {
        if (format == common[role]) continue;
        own[role] = format;
        suffix = "-" + to_string(format);
    }
    if (own == common) return layer;
    layer.formats = own;
    layer.name += suffix;
    return layer;
}

}  // namespace

bool names_module(const std::string& pattern, const std::string& module) {
    if (pattern.rfind("re:", 0) == 0) {
        try {
            return std::regex_search("model." + module, std::regex(pattern.substr(3)),
                                     std::regex_constants::match_continuous);
        } catch (const std::regex_error&) {
            return false;
        }
    }
    const std::string name = from_layers(module), wanted = from_layers(pattern);
    if (wanted.find('*') != std::string::npos)
        return glob(wanted, name) || glob(wanted + ".*", name) ||
               (wanted.front() == '*' && glob(wanted, "model." + name));
    return ("." + name + ".").find("." + wanted + ".") != std::string::npos &&
           (wanted.find("layers.") == std::string::npos || is_prefixed(name, wanted));
}

void apply_quantization(const QuantRules& rules, const std::string& type, Model& model) {
    const StorageFormat plain{.element = model.activation};
    const RuleBook book(rules, plain);
    std::vector<RoleFormats> layers;
    for (std::size_t i = 0; i < model.layout.size(); ++i) {
        const Layer& layer = model.kinds[static_cast<std::size_t>(model.layout[i])];
        layers.push_back(book.of_layer(layer, type, "layers." + std::to_string(i) + "."));
    }
    model.formats = common_formats(layers, plain);
    if (rules.head && !model.tied_embeddings)
        model.formats[Role::head] = book.of({"lm_head", "language_model.lm_head"});
    const Model before = model;
    model.kinds.clear();
    model.layout.clear();
    for (std::size_t i = 0; i < before.layout.size(); ++i) {
        const Layer& layer = before.kinds[static_cast<std::size_t>(before.layout[i])];
        add_layer(model, stored_as(layer, layers[i], model.formats));
    }
    if (before.prediction.count == 0) return;
    // Checkpoints number prediction layers after the others or call them mtp.
    const Layer& last = before.kinds[static_cast<std::size_t>(before.prediction.kind)];
    RoleFormats formats = book.of_layer(last, type, "layers." + std::to_string(before.layout.size()) + ".");
    for (auto& [role, format] : book.of_layer(last, type, "mtp.layers.0.")) {
        if (format == plain) formats[role] = plain;
    }
    const auto layout = model.layout;
    Layer stored = stored_as(last, formats, model.formats);
    stored.name = stored.formats ? "prediction" : last.name;
    add_layer(model, stored);
    model.prediction.kind = model.layout.back();
    model.layout = layout;
}

}  // namespace headroom
