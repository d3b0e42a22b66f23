// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/map_reader.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct JsonMember;

/// One JSON value. `not_finite` is a bare NaN or Infinity, which Python writes and JSON does not allow.
struct JsonValue {
    enum class Kind { null, boolean, number, text, list, map, not_finite };
    Kind kind = Kind::null;
    bool boolean = false;
    double number = 0;
    std::optional<std::int64_t> whole{};  ///< of a number written without fraction that fits
    std::string text{};
    std::vector<JsonValue> items{};
    std::vector<JsonMember> members;  ///< in the file's order
};

/// A key, where it stands (from 1), and its value.
struct JsonMember {
    std::string key;
    int line = 0;
    int column = 0;
    JsonValue value{};
};

/// Syntax errors end the reading (InputError); duplicate keys are faults and the first one counts.
JsonValue parse_json(std::string_view text, Faults& faults);

/// One mapping of a JSON file whose keys may have several names over the years: the functions below take all
/// of them. null is the same as absent. Every key that is asked for is remembered; `unused` lists the others.
class JsonMap {
  public:
    using Names = std::initializer_list<std::string_view>;

    /// `value` must be a map and outlive the reader.
    static JsonMap root(const JsonValue& value, Faults& faults);

    bool has(std::string_view key) const;  ///< present and not null; does not count as use
    std::int64_t count(Names names, std::int64_t low = 1);
    std::optional<std::int64_t> maybe_count(Names names, std::int64_t low = 0);
    std::int64_t count_or(Names names, std::int64_t fallback, std::int64_t low = 0) {
        return maybe_count(names, low).value_or(fallback);
    }
    std::optional<double> maybe_number(Names names);
    std::optional<bool> maybe_flag(Names names);
    bool flag(Names names, bool fallback) { return maybe_flag(names).value_or(fallback); }
    std::optional<std::string> maybe_text(Names names);
    std::string text(Names names, std::string fallback) {
        return maybe_text(names).value_or(std::move(fallback));
    }
    std::optional<std::vector<std::string>> maybe_texts(Names names);
    std::optional<std::vector<std::int64_t>> maybe_counts(Names names);
    std::optional<JsonMap> map(std::string_view key);
    /// The value itself, for keys of more than one type; marks everything below as used.
    const JsonValue* raw(std::string_view key);
    /// Marks a key as used without reading it.
    void ignore(std::string_view key);

    /// The members of this map, for maps whose keys are names; marks everything below as used.
    const std::vector<JsonMember>& members();

    void fault(std::string_view key, std::string message, std::string suggestion = "");
    /// A fault that may only follow from others: told when there are none yet.
    void consequence(std::string_view key, std::string message);
    bool any_fault() const;

    struct Unused {
        std::string path;
        const JsonMember* member;
    };
    /// Keys that were not asked for; of a map that was entered, those below it.
    std::vector<Unused> unused() const;
    void fault(const Unused& unused, std::string message, std::string suggestion = "");
    bool faulted(const Unused& unused) const;
    /// Keys that were asked for and are not there.
    std::vector<std::string> absent() const;
    std::string path_of(std::string_view key) const;

  private:
    struct State;
    explicit JsonMap(std::shared_ptr<State> state) : state_(std::move(state)) {}
    const JsonMember* find(std::string_view key) const;
    const JsonMember* take(Names names);

    std::shared_ptr<State> state_;
};

}  // namespace headroom
