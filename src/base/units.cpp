// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include "base/diagnostic.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/core.h>

namespace headroom {
namespace {

struct Unit {
    std::string_view name;
    Dimension dimension;
    double scale;
};

constexpr Dimension kByte{.byte = 1}, kFlop{.flop = 1}, kSecond{.second = 1}, kToken{.token = 1},
    kWatt{.second = -1, .joule = 1}, kJoule{.joule = 1}, kUsd{.usd = 1}, kHertz{.second = -1};

// The one table of units: YAML, options and output all use it. Decimal and binary prefixes are different
// units, and a lower-case "b" is a bit only in the spelt-out forms, since "Gb" is read both ways by people.
constexpr std::array kUnits{
    Unit{"B", kByte, 1},          Unit{"kB", kByte, 1e3},       Unit{"MB", kByte, 1e6},
    Unit{"GB", kByte, 1e9},       Unit{"TB", kByte, 1e12},      Unit{"PB", kByte, 1e15},
    Unit{"KiB", kByte, 0x1p10},   Unit{"MiB", kByte, 0x1p20},   Unit{"GiB", kByte, 0x1p30},
    Unit{"TiB", kByte, 0x1p40},   Unit{"bit", kByte, 0.125},    Unit{"kbit", kByte, 125},
    Unit{"Mbit", kByte, 125e3},   Unit{"Gbit", kByte, 125e6},   Unit{"Tbit", kByte, 125e9},
    Unit{"FLOP", kFlop, 1},       Unit{"kFLOP", kFlop, 1e3},    Unit{"MFLOP", kFlop, 1e6},
    Unit{"GFLOP", kFlop, 1e9},    Unit{"TFLOP", kFlop, 1e12},   Unit{"PFLOP", kFlop, 1e15},
    Unit{"OP", kFlop, 1},         Unit{"GOP", kFlop, 1e9},      Unit{"TOP", kFlop, 1e12},
    Unit{"POP", kFlop, 1e15},     Unit{"s", kSecond, 1},        Unit{"ms", kSecond, 1e-3},
    Unit{"us", kSecond, 1e-6},    Unit{"ns", kSecond, 1e-9},    Unit{"min", kSecond, 60},
    Unit{"h", kSecond, 3600},     Unit{"token", kToken, 1},     Unit{"tokens", kToken, 1},
    Unit{"ktoken", kToken, 1e3},  Unit{"ktokens", kToken, 1e3}, Unit{"Mtoken", kToken, 1e6},
    Unit{"Mtokens", kToken, 1e6}, Unit{"W", kWatt, 1},          Unit{"kW", kWatt, 1e3},
    Unit{"J", kJoule, 1},         Unit{"USD", kUsd, 1},         Unit{"$", kUsd, 1},
    Unit{"Hz", kHertz, 1},        Unit{"kHz", kHertz, 1e3},     Unit{"MHz", kHertz, 1e6},
    Unit{"GHz", kHertz, 1e9},
};

const Unit* find_unit(std::string_view name) {
    const auto* found =
        std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == name; });
    return found == kUnits.end() ? nullptr : found;
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

// "TB/s" and "USD/h": a unit over at most one other. Returns nothing for an unknown name.
std::optional<Unit> compound_unit(std::string_view text) {
    const std::size_t slash = text.find('/');
    const Unit* top = find_unit(trim(text.substr(0, slash)));
    if (slash == std::string_view::npos) return top ? std::optional(*top) : std::nullopt;
    const bool per_second_only = slash == 0;  // "/s"
    const Unit* bottom = find_unit(trim(text.substr(slash + 1)));
    if (bottom == nullptr || (top == nullptr && !per_second_only)) return std::nullopt;
    const Dimension upper = per_second_only ? Dimension{} : top->dimension;
    const double scale = per_second_only ? 1.0 : top->scale;
    return Unit{text, upper / bottom->dimension, scale / bottom->scale};
}

// The spellings worth offering for a dimension: the units of its numerator over the usual denominator.
std::vector<std::string> spellings(Dimension wanted) {
    std::vector<std::string> names;
    for (const Unit& unit : kUnits) {
        if (unit.dimension == wanted) names.emplace_back(unit.name);
        for (std::string_view per : {"s", "token", "h"}) {
            if (unit.dimension / find_unit(per)->dimension == wanted) {
                names.push_back(std::string(unit.name) + "/" + std::string(per));
            }
        }
    }
    return names;
}

std::string example_unit(Dimension wanted) {
    for (std::string_view name :
         {"GB", "GB/s", "TFLOP/s", "s", "MHz", "W", "USD/h", "token", "token/s", "B/token"}) {
        if (const auto unit = compound_unit(name); unit && unit->dimension == wanted)
            return std::string(name);
    }
    const auto names = spellings(wanted);
    return names.empty() ? "" : names.front();
}

std::string shorten(std::string text) {
    if (text.find('.') == std::string::npos || text.find('e') != std::string::npos) return text;
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
}

// The number at the start of `text`, and what is left after it.
std::optional<std::pair<double, std::string_view>> leading_number(std::string_view text) {
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || !std::isfinite(value)) return std::nullopt;
    return std::pair{value, text.substr(static_cast<std::size_t>(end - text.data()))};
}

}  // namespace

std::variant<double, ParseFault> parse_quantity(std::string_view text, Dimension wanted) {
    const auto number = leading_number(trim(text));
    const std::string example = example_unit(wanted);
    if (!number)
        return ParseFault{fmt::format("\"{}\" is not a number with a unit such as {}", text, example), ""};
    const std::string_view name = trim(number->second);
    if (name.empty()) {
        if (number->first == 0) return 0.0;
        return ParseFault{fmt::format("\"{}\" has no unit", text),
                          shorten(fmt::format("{}", number->first)) + " " + example};
    }
    const auto unit = compound_unit(name);
    if (!unit) {
        const std::string near = did_you_mean(name, spellings(wanted));
        return ParseFault{fmt::format("unknown unit \"{}\"", name), near};
    }
    if (unit->dimension != wanted) {
        return ParseFault{
            fmt::format("\"{}\" is the wrong kind of unit here; one such as {} is needed", name, example),
            ""};
    }
    return number->first * unit->scale;
}

std::variant<double, ParseFault> parse_number(std::string_view text) {
    const auto number = leading_number(trim(text));
    if (!number || !number->second.empty())
        return ParseFault{fmt::format("\"{}\" is not a number", text), ""};
    return number->first;
}

std::variant<std::int64_t, ParseFault> parse_count(std::string_view text) {
    const std::string_view trimmed = trim(text);
    const auto number = leading_number(trimmed);
    const ParseFault fault{
        fmt::format("\"{}\" is not a whole number (suffixes k, M, G, Ki, Mi are understood)", text), ""};
    if (!number) return fault;
    double scale = 0;
    for (const auto& [suffix, factor] : {std::pair<std::string_view, double>{"", 1},
                                         {"k", 1e3},
                                         {"M", 1e6},
                                         {"G", 1e9},
                                         {"Ki", 0x1p10},
                                         {"Mi", 0x1p20}}) {
        if (number->second == suffix) scale = factor;
    }
    const double value = number->first * scale;
    if (scale == 0 || value != std::floor(value)) return fault;
    if (std::abs(value) > 0x1p53)
        return ParseFault{fmt::format("\"{}\" is too large; 2^53 is the most that is understood", text), ""};
    return static_cast<std::int64_t>(value);
}

std::string format_number(double value, int significant) {
    if (value == 0) return "0";
    const double magnitude = std::floor(std::log10(std::abs(value)));
    if (magnitude < -4 || magnitude > 14) return fmt::format("{:.{}g}", value, significant);
    const int decimals = std::max(0, significant - 1 - static_cast<int>(magnitude));
    return shorten(fmt::format("{:.{}f}", value, decimals));
}

std::string format_count(double value) {
    std::string digits = fmt::format("{:.0f}", std::abs(value));
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return (value < 0 ? "-" : "") + digits;
}

std::string format_quantity(double value, Dimension dimension, int significant) {
    struct Scale {
        std::string_view prefix;
        double factor;
    };
    constexpr std::array kLarge{Scale{"", 1},    Scale{"k", 1e3},  Scale{"M", 1e6},
                                Scale{"G", 1e9}, Scale{"T", 1e12}, Scale{"P", 1e15}};
    constexpr std::array kSmall{Scale{"n", 1e-9}, Scale{"u", 1e-6}, Scale{"m", 1e-3}, Scale{"", 1}};
    const std::string_view symbol = dimension.byte == 1    ? "B"
                                    : dimension.flop == 1  ? "FLOP"
                                    : dimension.token == 1 ? "token"
                                    : dimension.joule == 1 ? (dimension.second == -1 ? "W" : "J")
                                    : dimension.usd == 1   ? "USD"
                                    : dimension == kHertz  ? "Hz"
                                                           : "s";
    const bool time = dimension == kSecond;
    const std::span<const Scale> scales =
        time ? std::span<const Scale>(kSmall) : std::span<const Scale>(kLarge);
    Scale chosen = scales.front();
    for (const Scale& scale : scales) {
        if (std::abs(value) >= scale.factor * 0.9999995) chosen = scale;
    }
    if (value == 0) chosen = Scale{"", 1};
    std::string text = format_number(value / chosen.factor, significant) + " " + std::string(chosen.prefix) +
                       std::string(symbol);
    if (dimension.second == -1 && dimension.joule == 0 && dimension != kHertz) text += "/s";
    if (dimension.byte == -1) text += "/B";
    if (dimension.token == -1) text += "/token";
    return text;
}

std::string format_binary(Bytes bytes, int significant) {
    constexpr std::array<std::pair<std::string_view, double>, 5> kScales{
        {{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}}};
    auto chosen = kScales.front();
    for (const auto& scale : kScales) {
        if (std::abs(bytes.base()) >= scale.second) chosen = scale;
    }
    return format_number(bytes.base() / chosen.second, significant) + " " + std::string(chosen.first);
}

}  // namespace headroom
