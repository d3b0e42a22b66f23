// SPDX-License-Identifier: Apache-2.0
#include "io/model_fields.h"
#include "io/model_reader.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr std::size_t kLineWidth = 100;

// A YAML text that reads back as it is.
std::string quoted(const std::string& text) {
    const bool plain = !text.empty() &&
                       text.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789_-./+ ") == std::string::npos &&
                       text.front() != ' ' && text.back() != ' ' && text.front() != '-';
    if (plain) return text;
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        if (c == '\n') {
            result += "\\n";
            continue;
        }
        result += c;
    }
    return result + "\"";
}

using Entries = std::vector<std::string>;

// "{a: 1, b: 2}", broken where the line gets too long; `indent` is where the entries then start.
std::string flow(const Entries& entries, std::size_t column, std::size_t indent) {
    std::string text = "{";
    std::size_t width = column + 1;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::string entry = entries[i] + (i + 1 < entries.size() ? "," : "}");
        if (i > 0 && width + 1 + entry.size() > kLineWidth) {
            text += "\n" + std::string(indent, ' ');
            width = indent;
        } else if (i > 0) {
            text += " ";
            ++width;
        }
        text += entry;
        width += entry.size();
    }
    return entries.empty() ? "{}" : text;
}

template <class T>
class FieldWriter;

template <class T>
Entries entries_of(const T& value) {
    FieldWriter<T> writer(value);
    fields(writer, static_cast<const T*>(nullptr));
    return writer.entries;
}

// Collects "key: value" of every field that differs from its default.
template <class T>
class FieldWriter {
  public:
    explicit FieldWriter(const T& value) : value_(value) {}

    Entries entries;

    template <class Int>
    void required(std::string_view key, Int T::*member) {
        add(key, std::to_string(value_.*member));
    }
    template <class Int>
    void optional(std::string_view key, Int T::*member) {
        if (differs(member)) required(key, member);
    }
    template <class Int>
    void same_unless_given(std::string_view key, Int T::*member, Int T::*other) {
        if (value_.*member != value_.*other) required(key, member);
    }
    void flag(std::string_view key, bool T::*member) {
        if (differs(member)) add(key, value_.*member ? "true" : "false");
    }
    template <class E, class Table>
    void choice(std::string_view key, E T::*member, const Table& table) {
        for (const auto& [known, name] : table) {
            if (known == value_.*member && differs(member)) add(key, std::string(name));
        }
    }
    void text(std::string_view key, std::string T::*member) { add(key, quoted(value_.*member)); }
    template <class U>
    void group(std::string_view key, std::optional<U> T::*member) {
        if (value_.*member) add(key, flow(entries_of(*(value_.*member)), 0, 0));
    }

  private:
    template <class M>
    bool differs(M T::*member) const {
        return !(value_.*member == standard_.*member);
    }
    void add(std::string_view key, const std::string& value) {
        entries.push_back(fmt::format("{}: {}", key, value));
    }

    const T& value_;
    const T standard_{};
};

// `attention:` and `feed_forward:`: the kind and its fields.
template <class Variant, class Names>
std::string write_variant(const char* key, const Variant& value, const Names& names) {
    if (value.index() == 0) return "";
    Entries all = std::visit([](const auto& kind) { return entries_of(kind); }, value);
    all.insert(all.begin(), fmt::format("kind: {}", names[value.index()]));
    const std::string lead = fmt::format("    {}: ", key);
    return lead + flow(all, lead.size(), lead.size() + 1) + "\n";
}

std::string write_extras(const std::vector<ExtraTensor>& extras, std::size_t indent) {
    if (extras.empty()) return "";
    std::string text = std::string(indent, ' ') + "extras:\n";
    for (const ExtraTensor& e : extras)
        text += std::string(indent + 2, ' ') + "- " + flow(entries_of(e), indent + 4, indent + 5) + "\n";
    return text;
}

// The most common format is the default; roles that differ are named.
std::string write_formats(const Formats& formats, std::size_t indent) {
    std::map<std::string, int> uses;
    for (const StorageFormat& f : formats.by_role) ++uses[to_string(f)];
    const auto most = std::max_element(uses.begin(), uses.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    Entries entries{"default: " + most->first};
    for (const auto& [role, name] : kRoles) {
        const std::string format = to_string(formats[role]);
        if (format != most->first) entries.push_back(fmt::format("{}: {}", name, format));
    }
    const std::string lead = std::string(indent, ' ') + "formats: ";
    return lead + flow(entries, lead.size(), lead.size() + 1) + "\n";
}

std::string write_kind(const Layer& layer) {
    std::string text = "  " + layer.name + ":\n";
    text += write_variant("attention", layer.mixer, kMixerNames);
    text += write_variant("feed_forward", layer.feed_forward, kFeedForwardNames);
    if (layer.norms != Layer{}.norms) text += fmt::format("    norms: {}\n", layer.norms);
    if (layer.copies != 0) text += fmt::format("    copies: {}\n", layer.copies);
    text += write_extras(layer.extras, 4);
    if (layer.formats) text += write_formats(*layer.formats, 4);
    return text;
}

std::string folded_layout(const std::string& layout) {
    // A folded text joins its lines with single spaces.
    std::string text = "layout: >-\n  ";
    std::size_t width = 2;
    for (std::size_t from = 0; from < layout.size();) {
        const std::size_t to = std::min(layout.find(' ', from), layout.size());
        if (width > 2 && width + 1 + to - from > kLineWidth) {
            text += "\n  ";
            width = 2;
        } else if (width > 2) {
            text += ' ';
            ++width;
        }
        text += layout.substr(from, to - from);
        width += to - from;
        from = to + 1;
    }
    return text + "\n";
}

}  // namespace

std::string write_model_yaml(const Model& m) {
    const Model standard;
    std::string text = "# SPDX-License-Identifier: Apache-2.0\nschema: headroom.model/1\n";
    text += "name: " + quoted(m.name) + "\n";
    if (!m.title.empty()) text += "title: " + quoted(m.title) + "\n";
    if (!m.source.empty()) text += "source: " + quoted(m.source) + "\n";
    text += fmt::format("hidden: {}\n", m.hidden);
    if (m.embedding_width != 0) text += fmt::format("embedding_width: {}\n", m.embedding_width);
    text += fmt::format("vocabulary: {}\n", m.vocabulary);
    if (m.max_context != 0) text += fmt::format("max_context: {}\n", m.max_context);
    text += fmt::format("tied_embeddings: {}\n", m.tied_embeddings);
    if (!m.head) text += "head: false\n";
    if (m.head_bias) text += "head_bias: true\n";
    for (const auto& [kind, name] : kNormKinds) {
        if (kind == m.norm && kind != standard.norm) text += fmt::format("norm: {}\n", name);
    }
    if (!m.final_norm) text += "final_norm: false\n";
    text += fmt::format("activation: {}\n", to_string(m.activation));
    text += write_formats(m.formats, 0);
    if (m.kv_format) text += "kv_format: " + to_string(*m.kv_format) + "\n";
    text += write_extras(m.extras, 0);
    text += "kinds:\n";
    std::vector<std::string> names;
    for (const Layer& layer : m.kinds) {
        text += write_kind(layer);
        names.push_back(layer.name);
    }
    const std::string layout = write_layout(m.layout, names);
    text += layout.size() + 8 <= kLineWidth ? "layout: \"" + layout + "\"\n" : folded_layout(layout);
    if (m.prediction.count > 0) {
        text += fmt::format("prediction:\n  layers: {}\n  kind: {}\n", m.prediction.count,
                            names[static_cast<std::size_t>(m.prediction.kind)]);
        text += write_extras(m.prediction.extras, 2);
    }
    return text;
}

}  // namespace headroom
