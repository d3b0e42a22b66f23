// SPDX-License-Identifier: Apache-2.0
#include "io/index_expression.h"

#include "base/diagnostic.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {
namespace {

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

using Term = std::variant<std::optional<IndexTerm>, ParseFault>;

// "y", "2*y", "y*2", or a constant, which is no term.
Term parse_term(const std::string& text, const std::vector<LoopDimension>& dimensions) {
    IndexTerm term;
    bool named = false;
    for (const std::string& factor : parts_of(text, '*')) {
        if (is_number(factor)) {
            const auto value = parse_count(factor);
            if (const auto* bad = std::get_if<ParseFault>(&value)) return *bad;
            term.factor *= std::get<std::int64_t>(value);
            continue;
        }
        const auto at = std::find_if(dimensions.begin(), dimensions.end(),
                                     [&](const LoopDimension& d) { return d.name == factor; });
        if (at == dimensions.end()) {
            std::vector<std::string> names;
            for (const LoopDimension& d : dimensions) names.push_back(d.name);
            return ParseFault{fmt::format("no dimension \"{}\"", factor), did_you_mean(factor, names)};
        }
        if (named)
            return ParseFault{fmt::format("\"{}\" is not affine: two dimensions multiplied", text), ""};
        named = true;
        term.dimension = static_cast<int>(at - dimensions.begin());
    }
    if (!named) return std::optional<IndexTerm>{};
    if (term.factor == 0) return ParseFault{fmt::format("\"{}\" has a factor of 0", text), ""};
    return std::optional(term);
}

}  // namespace

std::string trimmed(std::string_view text) {
    const auto from = text.find_first_not_of(" \t\n");
    if (from == std::string_view::npos) return "";
    return std::string(text.substr(from, text.find_last_not_of(" \t\n") - from + 1));
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t to = std::min(text.find(separator, from), text.size());
        parts.push_back(trimmed(text.substr(from, to - from)));
        from = to + 1;
    }
    return parts;
}

std::variant<std::vector<Axis>, ParseFault> parse_index(std::string_view text,
                                                        const std::vector<LoopDimension>& dimensions) {
    std::vector<Axis> axes;
    for (const std::string& part : parts_of(text, ',')) {
        std::string sum = part;  // x - 1 differs from x + 1 in its offset alone, which is not kept
        std::replace(sum.begin(), sum.end(), '-', '+');
        Axis axis;
        for (const std::string& text_of_term : parts_of(sum, '+')) {
            const Term term = parse_term(text_of_term, dimensions);
            if (const auto* bad = std::get_if<ParseFault>(&term)) return *bad;
            if (const auto& found = std::get<std::optional<IndexTerm>>(term)) axis.push_back(*found);
        }
        axes.push_back(std::move(axis));
    }
    return axes;
}

std::variant<std::int64_t, ParseFault> parse_size(std::string_view text, const SizeOf& size_of) {
    std::int64_t value = 1;
    char joined = '*';
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t to = std::min(text.find_first_of("*/", from), text.size());
        const std::string part = trimmed(text.substr(from, to - from));
        std::optional<std::int64_t> next = size_of(part);
        if (!next) {
            const auto count = parse_count(part);
            if (const auto* bad = std::get_if<ParseFault>(&count))
                return ParseFault{fmt::format("\"{}\" is neither a count nor a dimension", part),
                                  bad->suggestion};
            next = std::get<std::int64_t>(count);
        }
        if (*next < 1) return ParseFault{fmt::format("\"{}\" is below 1", part), ""};
        if (joined == '/' && value % *next != 0)
            return ParseFault{fmt::format("{} is not divisible by {} = {}", value, part, *next), ""};
        if (joined == '*' && value > (std::int64_t{1} << 40) / *next)
            return ParseFault{fmt::format("\"{}\" is too large", text), ""};
        value = joined == '*' ? value * *next : value / *next;
        if (to < text.size()) joined = text[to];
        from = to + 1;
    }
    return value;
}

}  // namespace headroom
