// SPDX-License-Identifier: Apache-2.0
#include "io/json_reader.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace headroom {
namespace {

constexpr std::size_t kDeepest = 200;

struct Place {
    int line = 1;
    int column = 1;
};

class LineTable {
  public:
    explicit LineTable(std::string_view text) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '\n') starts_.push_back(i + 1);
        }
    }
    Place place_of(std::size_t offset) const {
        const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
        return {static_cast<int>(after - starts_.begin()), static_cast<int>(offset - *(after - 1)) + 1};
    }

  private:
    std::vector<std::size_t> starts_{0};
};

// Replaces bare NaN, Infinity and -Infinity by texts of the same length, so that offsets stay true.
std::string without_bare_words(std::string_view text) {
    std::string result(text);
    bool inside = false;
    for (std::size_t i = 0; i < result.size(); ++i) {
        if (inside) {
            if (result[i] == '\\')
                ++i;
            else if (result[i] == '"')
                inside = false;
            continue;
        }
        if (result[i] == '"') {
            inside = true;
            continue;
        }
        for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
            if (text.substr(i, word.size()) != word) continue;
            result.replace(i, word.size(), '"' + std::string(word.size() - 2, ' ') + '"');
            i += word.size() - 1;
            break;
        }
    }
    return result;
}

// Reads one byte at a time and tells the handler how far the lexer has come.
class CountingIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, std::size_t* consumed) : at_(at), consumed_(consumed) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++() {
        ++at_;
        ++*consumed_;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator before = *this;
        ++*this;
        return before;
    }
    bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
    bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

  private:
    const char* at_;
    std::size_t* consumed_;
};

class Handler : public nlohmann::json_sax<nlohmann::json> {
  public:
    Handler(std::string_view text, std::string_view original, Faults& faults)
        : text_(text), original_(original), lines_(text), faults_(faults) {}

    std::size_t consumed = 0;
    JsonValue root;

    bool null() override { return put({}); }
    bool boolean(bool value) override {
        JsonValue v;
        v.kind = JsonValue::Kind::boolean;
        v.boolean = value;
        return put(std::move(v));
    }
    bool number_integer(std::int64_t value) override { return number(static_cast<double>(value), value); }
    bool number_unsigned(std::uint64_t value) override {
        const bool fits = value <= static_cast<std::uint64_t>(INT64_MAX);
        return number(static_cast<double>(value),
                      fits ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt);
    }
    bool number_float(double value, const std::string&) override { return number(value, std::nullopt); }
    bool string(std::string& value) override {
        JsonValue v;
        v.kind = original_[consumed - 1] == '"' ? JsonValue::Kind::text : JsonValue::Kind::not_finite;
        v.text = value;
        return put(std::move(v));
    }
    bool binary(nlohmann::json::binary_t&) override { return false; }
    bool start_object(std::size_t) override { return open(JsonValue::Kind::map); }
    bool start_array(std::size_t) override { return open(JsonValue::Kind::list); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(std::string& name) override {
        // The lexer has just read the closing quote.
        std::size_t at = consumed - 1;
        do {
            --at;
        } while (at > 0 && (text_[at] != '"' || escaped(at)));
        const Place place = lines_.place_of(at);
        Open& map = open_.back();
        const auto [seen, fresh] = map.first_line.emplace(name, place.line);
        if (!fresh) {
            faults_.add(place.line, place.column, name,
                        fmt::format("given twice, first in line {}", seen->second));
        }
        map.value.members.push_back({name, place.line, place.column, {}});
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& e) override {
        const Place place = lines_.place_of(position > 0 ? position - 1 : 0);
        std::string message = e.what();
        if (const auto from = message.find("parse error"); from != std::string::npos) {
            const auto colon = message.find(": ", from);
            if (colon != std::string::npos) message = message.substr(colon + 2);
        }
        if (message.rfind("[json.", 0) == 0) message = message.substr(message.find("] ") + 2);
        faults_.add(place.line, place.column, "", "not valid JSON: " + message);
        return false;
    }

  private:
    struct Open {
        JsonValue value;
        std::map<std::string, int> first_line;
    };

    bool escaped(std::size_t at) const {
        std::size_t slashes = 0;
        while (slashes < at && text_[at - 1 - slashes] == '\\') ++slashes;
        return slashes % 2 == 1;
    }
    bool number(double value, std::optional<std::int64_t> whole) {
        JsonValue v;
        v.kind = JsonValue::Kind::number;
        v.number = value;
        v.whole = whole;
        return put(std::move(v));
    }
    bool open(JsonValue::Kind kind) {
        if (open_.size() >= kDeepest) {
            const Place place = lines_.place_of(consumed);
            faults_.add(place.line, place.column, "", fmt::format("nested deeper than {} levels", kDeepest));
            return false;
        }
        open_.push_back({});
        open_.back().value.kind = kind;
        return true;
    }
    bool close() {
        JsonValue value = std::move(open_.back().value);
        open_.pop_back();
        return put(std::move(value));
    }
    bool put(JsonValue value) {
        if (open_.empty()) {
            root = std::move(value);
        } else if (open_.back().value.kind == JsonValue::Kind::list) {
            open_.back().value.items.push_back(std::move(value));
        } else {
            open_.back().value.members.back().value = std::move(value);
        }
        return true;
    }

    std::string_view text_;
    std::string_view original_;
    LineTable lines_;
    Faults& faults_;
    std::vector<Open> open_;
};

}  // namespace

JsonValue parse_json(std::string_view text, Faults& faults) {
    const std::string plain = without_bare_words(text);
    Handler handler(plain, text, faults);
    const CountingIterator begin(plain.data(), &handler.consumed);
    const CountingIterator end(plain.data() + plain.size(), &handler.consumed);
    if (!nlohmann::json::sax_parse(begin, end, &handler)) faults.finish();
    if (handler.root.kind != JsonValue::Kind::map) {
        faults.add(1, 1, "", "a mapping of keys to values is needed");
        faults.finish();
    }
    return std::move(handler.root);
}

}  // namespace headroom
