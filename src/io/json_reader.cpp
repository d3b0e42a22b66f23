// SPDX-License-Identifier: Apache-2.0
#include "io/json_reader.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/core.h>

namespace headroom {

struct JsonMap::State {
    const JsonValue* value = nullptr;
    std::string path;
    Faults* faults = nullptr;
    int line = 1;
    int column = 1;
    std::shared_ptr<std::set<const JsonMember*>> used;
    std::shared_ptr<std::set<const JsonMember*>> entered;  // maps that were opened key by key
    std::vector<std::string> asked;
};

namespace {

// No size of a model comes near it, and it fits into an int.
constexpr std::int64_t kMost = 1'000'000'000;

std::string_view kind_name(JsonValue::Kind kind) {
    switch (kind) {
        case JsonValue::Kind::null:
            return "null";
        case JsonValue::Kind::boolean:
            return "true or false";
        case JsonValue::Kind::number:
            return "a number";
        case JsonValue::Kind::text:
            return "a text";
        case JsonValue::Kind::list:
            return "a list";
        case JsonValue::Kind::map:
            return "a mapping";
        case JsonValue::Kind::not_finite:
            return "NaN or Infinity";
    }
    return "";
}

bool same(const JsonValue& a, const JsonValue& b) {
    return a.kind == b.kind && a.boolean == b.boolean && a.number == b.number && a.text == b.text;
}

}  // namespace

JsonMap JsonMap::root(const JsonValue& value, Faults& faults) {
    auto state = std::make_shared<State>();
    state->value = &value;
    state->faults = &faults;
    state->used = std::make_shared<std::set<const JsonMember*>>();
    state->entered = std::make_shared<std::set<const JsonMember*>>();
    return JsonMap(std::move(state));
}

std::string JsonMap::path_of(std::string_view key) const {
    return state_->path.empty() ? std::string(key) : state_->path + "." + std::string(key);
}

const JsonMember* JsonMap::find(std::string_view key) const {
    for (const JsonMember& member : state_->value->members) {
        if (member.key == key) return &member;
    }
    return nullptr;
}

bool JsonMap::has(std::string_view key) const {
    const JsonMember* member = find(key);
    return member != nullptr && member->value.kind != JsonValue::Kind::null;
}

// The first of the names that is given and not null. Two that are given and differ are a fault.
const JsonMember* JsonMap::take(Names names) {
    const JsonMember* taken = nullptr;
    for (const std::string_view name : names) {
        state_->asked.emplace_back(name);
        const JsonMember* member = find(name);
        if (member == nullptr) continue;
        state_->used->insert(member);
        if (member->value.kind == JsonValue::Kind::null) continue;
        if (taken == nullptr) {
            taken = member;
        } else if (!same(taken->value, member->value)) {
            fault(name, fmt::format("says something else than \"{}\", which is the same thing", taken->key));
        }
    }
    return taken;
}

std::int64_t JsonMap::count(Names names, std::int64_t low) {
    if (std::any_of(names.begin(), names.end(), [&](std::string_view name) { return has(name); })) {
        return maybe_count(names, low).value_or(low);
    }
    take(names);
    std::vector<std::string> given;
    for (const JsonMember& member : state_->value->members) given.push_back(member.key);
    std::string meant;
    for (const std::string_view name : names) {
        if (meant.empty()) meant = did_you_mean(name, given);
    }
    const std::string key(*names.begin());
    const std::string what = find(key) == nullptr ? "missing" : "is null";
    if (const JsonMember* slip = find(meant); !meant.empty() && slip != nullptr)
        state_->faults->add(slip->line, slip->column, path_of(key), what, meant);
    else
        fault(key, what);
    return low;
}

std::optional<std::int64_t> JsonMap::maybe_count(Names names, std::int64_t low) {
    const JsonMember* member = take(names);
    if (member == nullptr) return std::nullopt;
    const JsonValue& v = member->value;
    std::optional<std::int64_t> whole = v.whole;
    if (v.kind == JsonValue::Kind::number && !whole && std::abs(v.number) <= double(kMost) &&
        v.number == std::floor(v.number))
        whole = static_cast<std::int64_t>(v.number);
    if (v.kind != JsonValue::Kind::number || !whole) {
        fault(member->key, fmt::format("a whole number is needed, not {}",
                                       v.kind == JsonValue::Kind::number ? "a fraction" : kind_name(v.kind)));
        return std::nullopt;
    }
    if (*whole < low || *whole > kMost) {
        fault(member->key, fmt::format("{} is out of range; {} to {} is allowed", *whole, low, kMost));
        return std::nullopt;
    }
    return whole;
}

std::optional<double> JsonMap::maybe_number(Names names) {
    const JsonMember* member = take(names);
    if (member == nullptr) return std::nullopt;
    if (member->value.kind == JsonValue::Kind::number) return member->value.number;
    fault(member->key, fmt::format("a number is needed, not {}", kind_name(member->value.kind)));
    return std::nullopt;
}

std::optional<bool> JsonMap::maybe_flag(Names names) {
    const JsonMember* member = take(names);
    if (member == nullptr) return std::nullopt;
    if (member->value.kind == JsonValue::Kind::boolean) return member->value.boolean;
    fault(member->key, fmt::format("true or false is needed, not {}", kind_name(member->value.kind)));
    return std::nullopt;
}

std::optional<std::string> JsonMap::maybe_text(Names names) {
    const JsonMember* member = take(names);
    if (member == nullptr) return std::nullopt;
    if (member->value.kind == JsonValue::Kind::text) return member->value.text;
    fault(member->key, fmt::format("a text is needed, not {}", kind_name(member->value.kind)));
    return std::nullopt;
}

std::optional<std::vector<std::string>> JsonMap::maybe_texts(Names names) {
    const JsonMember* member = take(names);
    if (member == nullptr) return std::nullopt;
    std::vector<std::string> texts;
    bool right = member->value.kind == JsonValue::Kind::list;
    for (const JsonValue& item : member->value.items) {
        right = right && item.kind == JsonValue::Kind::text;
        texts.push_back(item.text);
    }
    if (right) return texts;
    fault(member->key, "a list of texts is needed");
    return std::nullopt;
}

std::optional<std::vector<std::int64_t>> JsonMap::maybe_counts(Names names) {
    const JsonMember* member = take(names);
    if (member == nullptr) return std::nullopt;
    std::vector<std::int64_t> counts;
    bool right = member->value.kind == JsonValue::Kind::list;
    for (const JsonValue& item : member->value.items) {
        right = right && item.whole.has_value() && std::abs(*item.whole) <= kMost;
        counts.push_back(right ? *item.whole : 0);
    }
    if (right) return counts;
    fault(member->key, fmt::format("a list of whole numbers up to {} is needed", kMost));
    return std::nullopt;
}

std::optional<JsonMap> JsonMap::map(std::string_view key) {
    const JsonMember* member = take({key});
    if (member == nullptr) return std::nullopt;
    if (member->value.kind != JsonValue::Kind::map) {
        fault(key, fmt::format("a mapping is needed, not {}", kind_name(member->value.kind)));
        return std::nullopt;
    }
    state_->entered->insert(member);
    auto state = std::make_shared<State>(*state_);
    state->value = &member->value;
    state->path = path_of(key);
    state->line = member->line;
    state->column = member->column;
    state->asked.clear();
    return JsonMap(std::move(state));
}

const JsonValue* JsonMap::raw(std::string_view key) {
    const JsonMember* member = take({key});
    return member == nullptr ? nullptr : &member->value;
}

void JsonMap::ignore(std::string_view key) {
    if (const JsonMember* member = find(key)) state_->used->insert(member);
}

const std::vector<JsonMember>& JsonMap::members() {
    for (const JsonMember& member : state_->value->members) state_->used->insert(&member);
    return state_->value->members;
}

void JsonMap::fault(std::string_view key, std::string message, std::string suggestion) {
    const JsonMember* member = find(key);
    state_->faults->add(member != nullptr ? member->line : state_->line,
                        member != nullptr ? member->column : state_->column, path_of(key), std::move(message),
                        std::move(suggestion));
}

void JsonMap::fault(const Unused& unused, std::string message, std::string suggestion) {
    state_->faults->add(unused.member->line, unused.member->column, unused.path, std::move(message),
                        std::move(suggestion));
}

void JsonMap::consequence(std::string_view key, std::string message) {
    if (!any_fault()) fault(key, std::move(message));
}

bool JsonMap::faulted(const Unused& unused) const {
    return state_->faults->at(unused.member->line, unused.member->column);
}

bool JsonMap::any_fault() const { return state_->faults->any(); }

std::vector<JsonMap::Unused> JsonMap::unused() const {
    std::vector<Unused> found;
    const auto walk = [&](const auto& self, const JsonValue& map, const std::string& prefix) -> void {
        for (const JsonMember& member : map.members) {
            const std::string path = prefix.empty() ? member.key : prefix + "." + member.key;
            if (state_->used->count(&member) == 0) found.push_back({path, &member});
            if (state_->entered->count(&member) > 0) self(self, member.value, path);
        }
    };
    walk(walk, *state_->value, state_->path);
    return found;
}

std::vector<std::string> JsonMap::absent() const {
    std::vector<std::string> keys;
    for (const std::string& key : state_->asked) {
        if (find(key) == nullptr) keys.push_back(key);
    }
    return keys;
}

}  // namespace headroom
