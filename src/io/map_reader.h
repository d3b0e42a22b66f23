// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/diagnostic.h"
#include "base/quantity.h"
#include "base/units.h"
#include "spec/interval.h"
#include "spec/source.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace YAML {
class Node;
}

namespace headroom {

/// Values given by `--set`, by dotted path below a file's root ("memory.bandwidth" for `--set
/// hw.memory.bandwidth=...`).
using Overrides = std::map<std::string, std::string, std::less<>>;

/// The faults found while one file is read. They are thrown together by `finish`.
class Faults {
  public:
    explicit Faults(std::string file) : file_(std::move(file)) {}

    void add(int line, int column, std::string key, std::string message, std::string suggestion = "");
    bool any() const { return !found_.empty(); }
    /// Whether something at this place was faulted already.
    bool at(int line, int column) const;
    const std::string& file() const { return file_; }
    /// Throws InputError when any fault was added.
    void finish() const;

  private:
    std::string file_;
    std::vector<Diagnostic> found_;
};

/// One mapping of a YAML file. Every key that is asked for is remembered, so that `done` can refuse the
/// others by name and say what was probably meant. Scalars are read as text and parsed strictly: no octal, no
/// yes/no booleans.
class MapReader {
  public:
    /// The root of a file's text. Syntax errors and duplicate keys are faults. `overrides` must outlive the
    /// reader.
    static MapReader parse(std::string_view text, Faults& faults, const Overrides* overrides = nullptr);

    bool has(std::string_view key);
    std::string text(std::string_view key);  ///< required
    std::string text(std::string_view key, std::string fallback);
    std::int64_t count(std::string_view key, std::int64_t low,
                       std::int64_t high);  ///< required, whole, in range
    std::int64_t count(std::string_view key, std::int64_t low, std::int64_t high, std::int64_t fallback);
    double number(std::string_view key, double low, double high);
    double number(std::string_view key, double low, double high, double fallback);
    bool flag(std::string_view key, bool fallback);
    std::vector<std::string> texts(std::string_view key);  ///< a sequence of scalars; empty when absent

    template <Dimension D>
    Quantity<D> quantity(std::string_view key) {
        return Quantity<D>(dimensioned(key, D, true).value_or(0.0));
    }
    template <Dimension D>
    Quantity<D> quantity(std::string_view key, Quantity<D> fallback) {
        return Quantity<D>(dimensioned(key, D, false).value_or(fallback.base()));
    }

    /// One of the names of a table of {value, name} pairs.
    template <class E, class Table>
    E choice(std::string_view key, const Table& table, std::optional<E> fallback = std::nullopt) {
        std::vector<std::string> names;
        for (const auto& [value, name] : table) names.emplace_back(name);
        const auto index = choose(key, names, !fallback);
        if (!index) return fallback.value_or(table.begin()->first);
        return (table.begin() + static_cast<std::ptrdiff_t>(*index))->first;
    }

    /// The mapping below a key: required, or empty optional when absent.
    MapReader map(std::string_view key);
    std::optional<MapReader> optional_map(std::string_view key);
    /// Every key and mapping of a map whose keys are names (data types, layer kinds); marks them as used.
    std::vector<std::pair<std::string, MapReader>> maps();
    /// Every scalar of a map whose keys are names; marks them as used.
    std::vector<std::pair<std::string, std::string>> scalars();
    /// The mappings of a sequence.
    std::vector<MapReader> list(std::string_view key);

    /// `{value: 3.35 TB/s, source: datasheet}`, or a bare value that an override put there.
    template <Dimension D>
    std::optional<Fact<Quantity<D>>> fact(std::string_view key, const std::vector<Source>& sources,
                                          bool required) {
        const auto found = any_fact(key, D, sources, required);
        if (!found) return std::nullopt;
        return Fact<Quantity<D>>{Quantity<D>(found->value), found->source, found->kind};
    }
    std::optional<Fact<double>> plain_fact(std::string_view key, const std::vector<Source>& sources,
                                           bool required) {
        return any_fact(key, Dimension{}, sources, required);
    }

    /// `{low: 0.7, expected: 0.8, high: 0.9, source: tables}`; ordered, or it is a fault. Plain numbers
    /// unless `dimension` says otherwise.
    Interval interval(std::string_view key, const std::vector<Source>& sources, Dimension dimension = {});

    /// A fault at a key's place, or at the mapping's when the key is absent.
    void fault(std::string_view key, std::string message, std::string suggestion = "");

    /// Faults every key that was not asked for. At the root also every override that no key took.
    void done();

  private:
    struct State;
    explicit MapReader(std::shared_ptr<State> state) : state_(std::move(state)) {}

    struct Scalar {
        std::string text;
        bool overridden = false;
    };
    std::optional<Scalar> scalar(std::string_view key, bool required);
    std::optional<double> dimensioned(std::string_view key, Dimension dimension, bool required);
    std::optional<std::size_t> choose(std::string_view key, const std::vector<std::string>& names,
                                      bool required);
    std::optional<Fact<double>> any_fact(std::string_view key, Dimension dimension,
                                         const std::vector<Source>& sources, bool required);

    const Source* check_source(const std::string& id, const std::vector<Source>& sources);

    std::shared_ptr<State> state_;
};

/// The `sources:` mapping that every file with facts has.
std::vector<Source> read_sources(MapReader& root);

/// Whole text of a file; InputError when it cannot be read.
std::string read_file(const std::string& path);
/// Refuses a path that could not be opened, saying why: it does not exist, is a folder, or may not be read.
[[noreturn]] void refuse_unreadable(const std::string& path);

}  // namespace headroom
