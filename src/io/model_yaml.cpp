// SPDX-License-Identifier: Apache-2.0
#include "io/model_fields.h"
#include "io/model_reader.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr std::int64_t kMost = 1'000'000'000'000;

template <class T>
class FieldReader;

template <class T>
T read_fields(MapReader& map) {
    FieldReader<T> reader(map);
    fields(reader, static_cast<const T*>(nullptr));
    return reader.value;
}

template <class T>
class FieldReader {
  public:
    explicit FieldReader(MapReader& map) : map_(map) {}

    T value{};

    template <class Int>
    void required(std::string_view key, Int T::*member) {
        value.*member = static_cast<Int>(map_.count(key, 1, most<Int>()));
    }
    template <class Int>
    void optional(std::string_view key, Int T::*member) {
        value.*member = static_cast<Int>(map_.count(key, 0, most<Int>(), value.*member));
    }
    template <class Int>
    void same_unless_given(std::string_view key, Int T::*member, Int T::*other) {
        value.*member = static_cast<Int>(map_.count(key, 1, most<Int>(), value.*other));
    }
    void flag(std::string_view key, bool T::*member) { value.*member = map_.flag(key, value.*member); }
    template <class E, class Table>
    void choice(std::string_view key, E T::*member, const Table& table) {
        value.*member = map_.choice<E>(key, table, value.*member);
    }
    void text(std::string_view key, std::string T::*member) { value.*member = map_.text(key); }
    template <class U>
    void group(std::string_view key, std::optional<U> T::*member) {
        auto map = map_.optional_map(key);
        if (!map) return;
        value.*member = read_fields<U>(*map);
        map->done();
    }

  private:
    template <class Int>
    static constexpr std::int64_t most() {
        return std::min<std::int64_t>(kMost, std::numeric_limits<Int>::max());
    }

    MapReader& map_;
};

// The alternative that `kind:` names, with its fields.
template <class Variant, std::size_t... I>
Variant read_alternative(MapReader& map, std::size_t index, std::index_sequence<I...>) {
    Variant value;
    ((I == index ? void(value = read_fields<std::variant_alternative_t<I, Variant>>(map)) : void()), ...);
    return value;
}

template <class Variant, class Names>
Variant read_variant(MapReader& layer, std::string_view key, const Names& names) {
    auto map = layer.optional_map(key);
    if (!map) return {};
    std::vector<std::pair<std::size_t, std::string_view>> table;
    for (std::size_t i = 0; i < names.size(); ++i) table.emplace_back(i, names[i]);
    const std::size_t index = map->choice<std::size_t>("kind", table);
    Variant value =
        read_alternative<Variant>(*map, index, std::make_index_sequence<std::variant_size_v<Variant>>());
    map->done();
    return value;
}

std::vector<ExtraTensor> read_extras(MapReader& map) {
    std::vector<ExtraTensor> extras;
    for (MapReader& item : map.list("extras")) {
        extras.push_back(read_fields<ExtraTensor>(item));
        item.done();
    }
    return extras;
}

std::optional<StorageFormat> read_format(MapReader& map, std::string_view key) {
    const std::string name = map.text(key, "");
    if (name.empty()) return std::nullopt;
    const auto format = storage_format(name);
    if (!format) {
        const std::vector<std::string> names = storage_format_names();
        map.fault(key, fmt::format("\"{}\" is no storage format", name), did_you_mean(name, names));
    }
    return format;
}

std::optional<Formats> read_formats(MapReader& owner, const Formats& otherwise) {
    auto map = owner.optional_map("formats");
    if (!map) return std::nullopt;
    Formats formats = otherwise;
    if (const auto standard = read_format(*map, "default")) formats = uniform_formats(*standard);
    for (const auto& [role, name] : kRoles) {
        if (const auto format = read_format(*map, name)) formats[role] = *format;
    }
    map->done();
    return formats;
}

Layer read_kind(const std::string& name, MapReader& map, const Formats& formats) {
    Layer layer;
    layer.name = name;
    if (name.empty() || name.find_first_of(" ()*") != std::string::npos)
        map.fault("", "a kind's name holds no space, bracket or star");
    layer.mixer = read_variant<Mixer>(map, "attention", kMixerNames);
    layer.feed_forward = read_variant<FeedForward>(map, "feed_forward", kFeedForwardNames);
    if (auto* moe = std::get_if<MixtureOfExperts>(&layer.feed_forward)) {
        moe->local_experts = moe->experts;
        if (moe->top_k > moe->experts)
            map.fault("feed_forward",
                      fmt::format("top_k {} is more than {} experts", moe->top_k, moe->experts));
    }
    if (const auto* a = std::get_if<SoftmaxAttention>(&layer.mixer);
        a != nullptr && a->heads % a->kv_heads != 0)
        map.fault("attention",
                  fmt::format("{} key-value heads do not divide {} heads", a->kv_heads, a->heads));
    layer.norms = static_cast<int>(map.count("norms", 0, 16, layer.norms));
    layer.copies = static_cast<int>(map.count("copies", 0, 10'000, layer.copies));
    layer.extras = read_extras(map);
    layer.formats = read_formats(map, formats);
    map.done();
    return layer;
}

void read_layers(MapReader& root, Model& m) {
    std::vector<std::string> names;
    MapReader kinds = root.map("kinds");
    for (auto& [name, map] : kinds.maps()) {
        m.kinds.push_back(read_kind(name, map, m.formats));
        names.push_back(name);
    }
    if (m.kinds.empty()) return;
    const auto layout = read_layout(root.text("layout"), names);
    if (const auto* fault = std::get_if<LayoutFault>(&layout)) {
        root.fault("layout", fmt::format("{} (character {})", fault->message, fault->column + 1),
                   fault->word.empty() ? "" : did_you_mean(fault->word, names));
    } else {
        m.layout = std::get<std::vector<int>>(layout);
    }
    auto prediction = root.optional_map("prediction");
    if (!prediction) return;
    m.prediction.count = static_cast<int>(prediction->count("layers", 1, 1000));
    std::vector<std::pair<int, std::string_view>> table;
    for (std::size_t i = 0; i < names.size(); ++i) table.emplace_back(static_cast<int>(i), names[i]);
    m.prediction.kind = prediction->choice<int>("kind", table);
    m.prediction.extras = read_extras(*prediction);
    prediction->done();
}

}  // namespace

Model read_model_yaml(const std::string& origin, const std::string& text, const Overrides& overrides) {
    Faults faults(origin);
    MapReader root = MapReader::parse(text, faults, &overrides);
    if (root.text("schema") != "headroom.model/1") root.fault("schema", "is not headroom.model/1");
    Model m;
    m.name = root.text("name");
    m.title = root.text("title", "");
    m.source = root.text("source", "");
    m.hidden = root.count("hidden", 1, kMost);
    m.embedding_width = root.count("embedding_width", 0, kMost, 0);
    m.vocabulary = root.count("vocabulary", 1, kMost);
    m.max_context = root.count("max_context", 0, kMost, 0);
    m.tied_embeddings = root.flag("tied_embeddings", false);
    m.head = root.flag("head", true);
    m.head_bias = root.flag("head_bias", false);
    m.norm = root.choice<NormKind>("norm", kNormKinds, m.norm);
    m.final_norm = root.flag("final_norm", true);
    m.activation = root.choice<ElementType>("activation", kElementTypes, m.activation);
    m.formats = uniform_formats({.element = m.activation});
    m.formats = read_formats(root, m.formats).value_or(m.formats);
    m.kv_format = read_format(root, "kv_format");
    m.extras = read_extras(root);
    read_layers(root, m);
    root.done();
    faults.finish();
    return m;
}

}  // namespace headroom
