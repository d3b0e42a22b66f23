// SPDX-License-Identifier: Apache-2.0
#include "io/trace_fields.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace headroom::trace {
namespace {

constexpr std::int64_t kBillion = 1'000'000'000;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Nanoseconds in a unit are ten to this.
constexpr std::size_t decimals(TimeUnit unit) {
    switch (unit) {
        case TimeUnit::ns:
            return 0;
        case TimeUnit::us:
            return 3;
        case TimeUnit::ms:
            return 6;
        case TimeUnit::s:
        case TimeUnit::date:
            break;
    }
    return 9;
}

bool digit(char c) { return c >= '0' && c <= '9'; }

// Digits from `at` on; nothing when there is none or they overflow.
std::optional<std::int64_t> digits(std::string_view text, std::size_t& at) {
    std::int64_t value = 0;
    const std::size_t begin = at;
    for (; at < text.size() && digit(text[at]); ++at) {
        if (value > (kMost - 9) / 10) return std::nullopt;
        value = value * 10 + (text[at] - '0');
    }
    return at == begin ? std::nullopt : std::optional(value);
}

constexpr std::array<std::int64_t, 10> kTens{1,       10,        100,        1000,        10'000,
                                             100'000, 1'000'000, 10'000'000, 100'000'000, kBillion};

// The digits after a point as parts of `scale`, which is ten to the `decimals`; digits beyond are dropped.
std::int64_t fraction(std::string_view text, std::size_t& at, std::size_t decimals) {
    std::int64_t value = 0;
    std::size_t used = 0;
    for (; at < text.size() && digit(text[at]); ++at) {
        if (used == decimals) continue;
        value = value * 10 + (text[at] - '0');
        ++used;
    }
    return value * kTens[decimals - used];
}

// Days since 1970-01-01 in the Gregorian calendar: years counted from March, so that the leap day is last.
constexpr std::int64_t days(int year, int month, int day) {
    if (month <= 2) --year;
    const int era = year / 400;
    const int of_era = year - era * 400;
    const int of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return std::int64_t{era} * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}
static_assert(days(1970, 1, 1) == 0 && days(2000, 3, 1) == 11017 && days(2024, 2, 29) == 19782);

// Two digits at `at`; `bad` is raised where they are none. (An optional costs a third of the reading time.)
int two(const char* at, bool& bad) {
    const int tens = at[0] - '0', ones = at[1] - '0';
    bad |= tens < 0 || tens > 9 || ones < 0 || ones > 9;
    return tens * 10 + ones;
}

std::optional<std::int64_t> offset(std::string_view text) {  // seconds east of Greenwich
    if (text.empty() || text == "Z" || text == " UTC") return 0;
    if (text.front() != '+' && text.front() != '-') return std::nullopt;
    const bool colon = text.size() == 6 && text[3] == ':';  // +00:00, +0000 or +00
    if (!colon && text.size() != 5 && text.size() != 3) return std::nullopt;
    bool bad = false;
    std::int64_t seconds = two(text.data() + 1, bad) * 3600;
    if (text.size() > 3) seconds += two(text.data() + (colon ? 4 : 3), bad) * 60;
    if (bad) return std::nullopt;
    return text.front() == '-' ? -seconds : seconds;
}

std::optional<std::int64_t> parse_date(std::string_view text) {
    if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') ||
        text[13] != ':' || text[16] != ':') {
        return std::nullopt;
    }
    bool bad = false;
    const int year = two(text.data(), bad) * 100 + two(text.data() + 2, bad);
    const int month = two(text.data() + 5, bad), day = two(text.data() + 8, bad);
    const int hour = two(text.data() + 11, bad), minute = two(text.data() + 14, bad);
    const int second = two(text.data() + 17, bad);
    bad |= month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60;
    bad |= year < 1700 || year > 2250;  // what 64 bits of nanoseconds hold
    if (bad) return std::nullopt;
    std::size_t at = 19;
    std::int64_t part = 0;
    if (at < text.size() && text[at] == '.') part = fraction(text, ++at, 9);
    const auto east = offset(text.substr(at));
    if (!east) return std::nullopt;
    const std::int64_t of_day = hour * 3600 + minute * 60 + second - *east;
    return (days(year, month, day) * 86400 + of_day) * kBillion + part;
}

// FNV-1a, so that a text gives the same number everywhere.
std::uint64_t fnv(std::string_view text) {
    std::uint64_t hash = 14695981039346656037ull;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    return hash;
}

}  // namespace

std::optional<std::int64_t> parse_time(std::string_view text, TimeUnit unit) {
    if (unit == TimeUnit::date) return parse_date(text);
    const std::int64_t scale = kTens[decimals(unit)];
    std::size_t at = 0;
    const auto whole = digits(text, at);
    if (!whole || *whole > kMost / scale - 1) return std::nullopt;
    std::int64_t value = *whole * scale;
    if (at < text.size() && text[at] == '.') value += fraction(text, ++at, decimals(unit));
    if (at == text.size()) return value;
    double number = 0;  // 1.9e7, as some programs print large floats
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    number *= static_cast<double>(scale);
    if (!(number >= 0) || number > 9e18) return std::nullopt;
    return std::llround(number);
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
    std::size_t at = 0;
    const auto whole = digits(text, at);
    if (!whole) return std::nullopt;
    if (at < text.size() && text[at] == '.') {
        for (++at; at < text.size() && text[at] == '0';) ++at;
    }
    return at == text.size() ? whole : std::nullopt;
}

std::int64_t identity(std::string_view text) {
    if (const auto number = parse_whole(text)) return *number;
    if (text.empty() || text.front() == '-') return -1;  // datasets write -1 for none
    return static_cast<std::int64_t>(fnv(text) >> 1);
}

bool parse_hashes(std::string_view text, std::vector<std::uint64_t>& hashes) {
    hashes.clear();
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
    const char* at = text.data() + 1;
    const char* const end = text.data() + text.size() - 1;
    const auto blanks = [&] {
        while (at < end && (*at == ' ' || *at == '\t')) ++at;
    };
    for (blanks(); at < end; blanks()) {
        if (*at == '"') {
            const char* from = ++at;
            while (at < end && *at != '"') ++at;
            if (at == end) return false;
            hashes.push_back(fnv({from, static_cast<std::size_t>(at - from)}));
            ++at;
        } else {
            std::uint64_t value = 0;
            const auto [after, code] = std::from_chars(at, end, value);
            if (code != std::errc{}) {  // negative hashes are 64-bit patterns
                std::int64_t negative = 0;
                const auto [behind, fault] = std::from_chars(at, end, negative);
                if (fault != std::errc{}) return false;
                value = static_cast<std::uint64_t>(negative);
                at = behind;
            } else {
                at = after;
            }
            hashes.push_back(value);
        }
        blanks();
        if (at < end && *at++ != ',') return false;
    }
    return true;
}

}  // namespace headroom::trace
