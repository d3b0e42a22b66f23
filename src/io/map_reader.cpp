// SPDX-License-Identifier: Apache-2.0
#include "io/map_reader.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

namespace headroom {

void Faults::add(int line, int column, std::string key, std::string message, std::string suggestion) {
    found_.push_back({{file_, line, column}, std::move(key), std::move(message), std::move(suggestion)});
}

bool Faults::at(int line, int column) const {
    return std::any_of(found_.begin(), found_.end(),
                       [&](const Diagnostic& d) { return d.where.line == line && d.where.column == column; });
}

void Faults::finish() const {
    if (!any()) return;
    std::vector<Diagnostic> sorted = found_;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
        return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
    });
    throw InputError(std::move(sorted));
}

// What a reader and its children share, and where in the file this one is.
struct MapReader::State {
    YAML::Node node;
    std::string path;  // dotted, without a trailing dot; "" at the root
    int line = 1;
    int column = 1;
    Faults* faults = nullptr;
    const Overrides* overrides = nullptr;
    std::shared_ptr<std::set<std::string, std::less<>>>
        taken;  // overrides that some key took, over the whole file
    std::shared_ptr<std::set<std::string, std::less<>>> known;  // paths that could have been overridden
    std::vector<std::string> asked;                             // keys of this mapping that were asked for

    std::string path_of(std::string_view key) const {
        return path.empty() ? std::string(key) : path + "." + std::string(key);
    }

    // yaml-cpp's marks count from 0. A key's own mark is kept since a missing value has none.
    struct Entry {
        YAML::Node value;
        int line = 0;
        int column = 0;
    };
    std::optional<Entry> find(std::string_view key) const {
        if (!node.IsMap()) return std::nullopt;
        for (const auto& entry : node) {
            if (entry.first.Scalar() == key) {
                return Entry{entry.second, entry.first.Mark().line + 1, entry.first.Mark().column + 1};
            }
        }
        return std::nullopt;
    }

    MapReader child(const Entry& entry, std::string child_path) const {
        auto state = std::make_shared<State>(*this);
        state->node.reset(entry.value);  // assignment would overwrite the parent in the shared tree
        state->path = std::move(child_path);
        state->line = entry.line;
        state->column = entry.column;
        state->asked.clear();
        return MapReader(std::move(state));
    }
};

namespace {

void refuse_duplicates(const YAML::Node& node, const std::string& path, Faults& faults) {
    if (node.IsSequence()) {
        for (const auto& item : node) refuse_duplicates(item, path, faults);
    }
    if (!node.IsMap()) return;
    std::map<std::string, int> first_line;
    for (const auto& entry : node) {
        const YAML::Mark mark = entry.first.Mark();
        if (!entry.first.IsScalar()) {
            faults.add(mark.line + 1, mark.column + 1, path, "a key must be a plain text");
            continue;
        }
        const std::string key = entry.first.Scalar();
        const std::string full = path.empty() ? key : path + "." + key;
        const auto [seen, fresh] = first_line.emplace(key, mark.line + 1);
        if (!fresh) {
            faults.add(mark.line + 1, mark.column + 1, full,
                       fmt::format("given twice, first in line {}", seen->second));
        }
        refuse_duplicates(entry.second, full, faults);
    }
}

}  // namespace

MapReader MapReader::parse(std::string_view text, Faults& faults, const Overrides* overrides) {
    auto state = std::make_shared<State>();
    state->faults = &faults;
    state->overrides = overrides;
    state->taken = std::make_shared<std::set<std::string, std::less<>>>();
    state->known = std::make_shared<std::set<std::string, std::less<>>>();
    try {
        state->node = YAML::Load(std::string(text));
    } catch (const YAML::Exception& e) {
        faults.add(e.mark.line + 1, e.mark.column + 1, "", "not valid YAML: " + e.msg);
        faults.finish();
    }
    if (!state->node.IsMap()) {
        faults.add(1, 1, "", "a mapping of keys to values is needed");
        faults.finish();
    }
    refuse_duplicates(state->node, "", faults);
    return MapReader(std::move(state));
}

bool MapReader::has(std::string_view key) {
    if (state_->overrides != nullptr && state_->overrides->count(state_->path_of(key)) > 0) return true;
    return state_->find(key).has_value();
}

std::optional<MapReader::Scalar> MapReader::scalar(std::string_view key, bool required) {
    state_->asked.emplace_back(key);
    const std::string path = state_->path_of(key);
    state_->known->insert(path);
    if (state_->overrides != nullptr) {
        if (const auto found = state_->overrides->find(path); found != state_->overrides->end()) {
            state_->taken->insert(path);
            return Scalar{found->second, true};
        }
    }
    const auto entry = state_->find(key);
    if (!entry) {
        if (required) fault(key, "missing");
        return std::nullopt;
    }
    if (!entry->value.IsScalar()) {
        fault(key, "a single value is needed");
        return std::nullopt;
    }
    return Scalar{entry->value.Scalar(), false};
}

std::string MapReader::text(std::string_view key) {
    const auto found = scalar(key, true);
    if (found && found->text.empty()) fault(key, "is empty");
    return found ? found->text : "";
}

std::string MapReader::text(std::string_view key, std::string fallback) {
    const auto found = scalar(key, false);
    return found ? found->text : std::move(fallback);
}

std::int64_t MapReader::count(std::string_view key, std::int64_t low, std::int64_t high) {
    const auto found = scalar(key, true);
    if (!found) return low;
    const auto parsed = parse_count(found->text);
    if (const auto* bad = std::get_if<ParseFault>(&parsed)) {
        fault(key, bad->message, bad->suggestion);
        return low;
    }
    const std::int64_t value = std::get<std::int64_t>(parsed);
    if (value < low || value > high)
        fault(key, fmt::format("{} is out of range; {} to {} is allowed", value, low, high));
    return std::clamp(value, low, high);
}

std::int64_t MapReader::count(std::string_view key, std::int64_t low, std::int64_t high,
                              std::int64_t fallback) {
    if (has(key)) return count(key, low, high);
    scalar(key, false);
    return fallback;
}

double MapReader::number(std::string_view key, double low, double high) {
    const auto found = scalar(key, true);
    if (!found) return low;
    const auto parsed = parse_number(found->text);
    if (const auto* bad = std::get_if<ParseFault>(&parsed)) {
        fault(key, bad->message, bad->suggestion);
        return low;
    }
    const double value = std::get<double>(parsed);
    if (value < low || value > high)
        fault(key, fmt::format("{} is out of range; {} to {} is allowed", value, low, high));
    return std::clamp(value, low, high);
}

double MapReader::number(std::string_view key, double low, double high, double fallback) {
    if (has(key)) return number(key, low, high);
    scalar(key, false);
    return fallback;
}

bool MapReader::flag(std::string_view key, bool fallback) {
    const auto found = scalar(key, false);
    if (!found) return fallback;
    if (found->text == "true" || found->text == "false") return found->text == "true";
    fault(key, fmt::format("\"{}\" is neither true nor false", found->text));
    return fallback;
}

std::vector<std::string> MapReader::texts(std::string_view key) {
    state_->asked.emplace_back(key);
    const auto entry = state_->find(key);
    std::vector<std::string> values;
    if (!entry) return values;
    if (!entry->value.IsSequence()) {
        fault(key, "a list is needed");
        return values;
    }
    for (const auto& item : entry->value) {
        if (item.IsScalar()) {
            values.push_back(item.Scalar());
        } else {
            fault(key, "a list of plain values is needed");
        }
    }
    return values;
}

std::optional<double> MapReader::dimensioned(std::string_view key, Dimension dimension, bool required) {
    const auto found = scalar(key, required);
    if (!found) return std::nullopt;
    const auto parsed =
        dimension == Dimension{} ? parse_number(found->text) : parse_quantity(found->text, dimension);
    if (const auto* bad = std::get_if<ParseFault>(&parsed)) {
        fault(key, bad->message, bad->suggestion);
        return std::nullopt;
    }
    if (std::get<double>(parsed) < 0) fault(key, fmt::format("\"{}\" is negative", found->text));
    return std::get<double>(parsed);
}

std::optional<std::size_t> MapReader::choose(std::string_view key, const std::vector<std::string>& names,
                                             bool required) {
    const auto found = scalar(key, required);
    if (!found) return std::nullopt;
    const auto at = std::find(names.begin(), names.end(), found->text);
    if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    fault(key, fmt::format("\"{}\" is not one of {}", found->text, all), did_you_mean(found->text, names));
    return std::nullopt;
}

MapReader MapReader::map(std::string_view key) {
    auto found = optional_map(key);
    if (found) return *found;
    if (!state_->find(key)) fault(key, "missing");
    return state_->child({YAML::Node(YAML::NodeType::Map), state_->line, state_->column},
                         state_->path_of(key));
}

std::optional<MapReader> MapReader::optional_map(std::string_view key) {
    state_->asked.emplace_back(key);
    const auto entry = state_->find(key);
    if (!entry) return std::nullopt;
    if (!entry->value.IsMap()) {
        fault(key, "a mapping is needed");
        return std::nullopt;
    }
    return state_->child(*entry, state_->path_of(key));
}

std::vector<std::pair<std::string, MapReader>> MapReader::maps() {
    std::vector<std::pair<std::string, MapReader>> found;
    for (const auto& entry : state_->node) {
        const std::string key = entry.first.Scalar();
        if (auto child = optional_map(key)) found.emplace_back(key, *child);
    }
    return found;
}

std::vector<std::pair<std::string, std::string>> MapReader::scalars() {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& entry : state_->node) {
        const std::string key = entry.first.Scalar();
        if (auto value = scalar(key, true)) found.emplace_back(key, value->text);
    }
    return found;
}

std::vector<MapReader> MapReader::list(std::string_view key) {
    state_->asked.emplace_back(key);
    const auto entry = state_->find(key);
    std::vector<MapReader> items;
    if (!entry) return items;
    if (!entry->value.IsSequence()) {
        fault(key, "a list is needed");
        return items;
    }
    for (const auto& item : entry->value) {
        const std::string path = fmt::format("{}[{}]", state_->path_of(key), items.size());
        if (!item.IsMap()) {
            state_->faults->add(item.Mark().line + 1, item.Mark().column + 1, path, "a mapping is needed");
            continue;
        }
        items.push_back(state_->child({item, item.Mark().line + 1, item.Mark().column + 1}, path));
    }
    return items;
}

std::optional<Fact<double>> MapReader::any_fact(std::string_view key, Dimension dimension,
                                                const std::vector<Source>& sources, bool required) {
    const std::string path = state_->path_of(key);
    state_->known->insert(path);
    if (state_->overrides != nullptr && state_->overrides->count(path) > 0) {
        const auto value = dimensioned(key, dimension, true);
        return Fact<double>{value.value_or(0.0), "option", SourceKind::option};
    }
    auto fact = required ? std::optional(map(key)) : optional_map(key);
    if (!fact || (required && !state_->find(key))) return std::nullopt;
    const auto value = fact->dimensioned("value", dimension, true);
    const std::string id = fact->text("source");
    fact->done();
    const auto source =
        std::find_if(sources.begin(), sources.end(), [&](const Source& s) { return s.id == id; });
    if (source == sources.end()) {
        if (!id.empty()) {
            std::vector<std::string> ids;
            for (const Source& s : sources) ids.push_back(s.id);
            fact->fault("source", fmt::format("no source \"{}\" under sources", id), did_you_mean(id, ids));
        }
        return std::nullopt;
    }
    if (!value) return std::nullopt;
    return Fact<double>{*value, id, source->kind};
}

Interval MapReader::interval(std::string_view key, const std::vector<Source>& sources, Dimension dimension) {
    MapReader below = map(key);
    if (!state_->find(key)) return {};
    const auto part = [&](std::string_view name) {
        return below.dimensioned(name, dimension, true).value_or(0.0);
    };
    Interval found{part("low"), part("expected"), part("high"), below.text("source")};
    below.done();
    below.check_source(found.source, sources);
    if (found.low > found.expected || found.expected > found.high)
        fault(key, "low <= expected <= high does not hold");
    return found;
}

const Source* MapReader::check_source(const std::string& id, const std::vector<Source>& sources) {
    const auto source =
        std::find_if(sources.begin(), sources.end(), [&](const Source& s) { return s.id == id; });
    if (source != sources.end()) return &*source;
    std::vector<std::string> ids;
    for (const Source& s : sources) ids.push_back(s.id);
    if (!id.empty())
        fault("source", fmt::format("no source \"{}\" under sources", id), did_you_mean(id, ids));
    return nullptr;
}

void MapReader::fault(std::string_view key, std::string message, std::string suggestion) {
    const std::string path = state_->path_of(key);
    if (state_->overrides != nullptr && state_->overrides->count(path) > 0) {
        refuse("--set", path, std::move(message), std::move(suggestion));
    }
    const auto entry = state_->find(key);
    const int line = entry ? entry->line : state_->line;
    const int column = entry ? entry->column : state_->column;
    state_->faults->add(line, column, path, std::move(message), std::move(suggestion));
}

void MapReader::done() {
    for (const auto& entry : state_->node) {
        const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
        if (std::find(state_->asked.begin(), state_->asked.end(), key) == state_->asked.end()) {
            fault(key, "unknown key", did_you_mean(key, state_->asked));
        }
    }
    if (!state_->path.empty() || state_->overrides == nullptr) return;
    const std::vector<std::string> known(state_->known->begin(), state_->known->end());
    for (const auto& [path, value] : *state_->overrides) {
        if (state_->taken->count(path) == 0) {
            refuse("--set", path, fmt::format("no such field in {}", state_->faults->file()),
                   did_you_mean(path, known));
        }
    }
}

}  // namespace headroom
