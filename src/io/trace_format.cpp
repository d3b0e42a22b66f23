// SPDX-License-Identifier: Apache-2.0
#include "io/trace_format.h"

#include "base/diagnostic.h"

#include <algorithm>
#include <charconv>
#include <span>

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace headroom::trace {
namespace {

using Names = std::array<std::string_view, kRoles>;  // arrival input output session parent hashes delay

struct Known {
    std::string_view format;
    bool json;
    Names names;
    TimeUnit unit;
    int prefix_block;
    std::array<std::string_view, 2> marks;  // further keys of which one must be there; all empty: none need
};

// Every format that is detected, the more particular first. Names compare without case and with blanks as
// underscores. Sources: the data sets' own descriptions (Azure/AzurePublicDataset, HPMLL/BurstGPT,
// kvcache-ai/Mooncake, alibaba-edu/qwen-bailian-usagetraces-anon, microsoft/vidur, ai-dynamo/aiperf,
// casys-kaist/LLMServingSim).
constexpr std::array kKnown{
    Known{"azure", false, {"timestamp", "contexttokens", "generatedtokens"}, TimeUnit::date, 0, {}},
    Known{"burstgpt",
          false,
          {"timestamp", "request_tokens", "response_tokens", "session_id"},
          TimeUnit::s,
          0,
          {}},
    Known{"vidur", false, {"arrived_at", "num_prefill_tokens", "num_decode_tokens"}, TimeUnit::s, 0, {}},
    Known{"llmservingsim", false, {"arrival_time_ns", "input_toks", "output_toks"}, TimeUnit::ns, 0, {}},
    Known{"bailian",
          true,
          {"timestamp", "input_length", "output_length", "chat_id", "parent_chat_id", "hash_ids"},
          TimeUnit::s,
          16,
          {"chat_id", "parent_chat_id"}},
    Known{"aiperf",
          true,
          {"timestamp", "input_length", "output_length", "session_id", "", "hash_ids", "delay"},
          TimeUnit::ms,
          512,
          {"session_id", "delay"}},
    Known{"mooncake",
          true,
          {"timestamp", "input_length", "output_length", "session_id", "", "hash_ids", "delay"},
          TimeUnit::ms,
          512,
          {}},
    Known{"llmservingsim",
          true,
          {"arrival_time_ns", "input_toks", "output_toks", "session_id"},
          TimeUnit::ns,
          0,
          {}},
};

std::string folded(std::string_view name) {
    std::string text(name);
    for (char& c : text) c = c == ' ' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

std::vector<std::string> split(std::string_view line, char delimiter) {
    std::vector<std::string> names;
    for (std::size_t from = 0;;) {
        const std::size_t stop = std::min(line.find(delimiter, from), line.size());
        std::string_view name = line.substr(from, stop - from);
        while (!name.empty() && (name.front() == ' ' || name.front() == '"')) name.remove_prefix(1);
        while (!name.empty() && (name.back() == ' ' || name.back() == '"')) name.remove_suffix(1);
        names.emplace_back(name);
        if (stop == line.size()) return names;
        from = stop + 1;
    }
}

char delimiter_of(std::string_view header) {
    char best = ',';
    for (const char candidate : {',', '\t', ';'}) {
        const auto count = [&](char c) { return std::count(header.begin(), header.end(), c); };
        if (count(candidate) > count(best)) best = candidate;
    }
    return best;
}

// The name as the file spells it, or "".
std::string spelt(std::span<const std::string> names, std::string_view wanted) {
    if (wanted.empty()) return "";
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const std::string& n) { return folded(n) == folded(wanted); });
    return found == names.end() ? "" : *found;
}

// Lengths of the input decide; the arrival and the output may be missing (`TraceReader` says what then).
bool matches(const Known& known, std::span<const std::string> names) {
    if (spelt(names, known.names[index(ColumnRole::input)]).empty()) return false;
    if (known.format == "azure" && spelt(names, known.names[index(ColumnRole::arrival)]).empty())
        return false;
    const auto there = [&](std::string_view mark) { return !spelt(names, mark).empty(); };
    return known.marks[0].empty() || std::any_of(known.marks.begin(), known.marks.end(), there);
}

Layout of_known(const Known& known, std::span<const std::string> names) {
    Layout layout;
    layout.format = known.format;
    layout.json = known.json;
    layout.unit = known.unit;
    layout.prefix_block = known.prefix_block;
    for (std::size_t role = 0; role < kRoles; ++role) {
        // Keys of later JSON rows may be missing in the first, so those are taken from the table.
        layout.key[role] = known.json ? std::string(known.names[role]) : spelt(names, known.names[role]);
    }
    return layout;
}

TimeUnit unit_named(const std::string& name) {
    for (const auto& [text, unit] : {std::pair<std::string_view, TimeUnit>{"ns", TimeUnit::ns},
                                     {"us", TimeUnit::us},
                                     {"ms", TimeUnit::ms},
                                     {"s", TimeUnit::s},
                                     {"date", TimeUnit::date}}) {
        if (name == text) return unit;
    }
    refuse("--columns", "unit", fmt::format("\"{}\" is none of ns, us, ms, s, date", name));
}

// "#3" is the third column of a file without a header.
int position(const std::string& text) {
    int value = 0;
    const auto [end, code] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || value < 1 || value > 10000) {
        refuse("--columns", "", fmt::format("\"{}\" is not a position such as #1", text));
    }
    return value - 1;
}

Layout of_columns(const TraceOptions& options, std::span<const std::string> names, bool json) {
    Layout layout;
    layout.format = "columns";
    layout.json = json;
    const std::vector<std::string> known = [] {
        std::vector<std::string> roles(kRoleNames.begin(), kRoleNames.end());
        roles.emplace_back("unit");
        return roles;
    }();
    for (const auto& [role, name] : options.columns) {
        const auto found = std::find(known.begin(), known.end(), role);
        if (found == known.end()) {
            refuse("--columns", role, fmt::format("is none of {}", fmt::join(known, ", ")),
                   did_you_mean(role, known));
        }
        if (role == "unit") {
            layout.unit = unit_named(name);
            continue;
        }
        const auto at = static_cast<std::size_t>(found - known.begin());
        if (!json && !name.empty() && name.front() == '#') {
            layout.header = false;
            layout.column[at] = position(name);
            layout.key[at] = name;
            continue;
        }
        layout.key[at] = json ? name : spelt(names, name);
        if (layout.key[at].empty()) {
            refuse("--columns", role,
                   fmt::format("no column \"{}\"; there are {}", name, fmt::join(names, ", ")),
                   did_you_mean(name, names));
        }
    }
    if (layout.key[index(ColumnRole::input)].empty()) refuse("--columns", "input", "missing");
    if (!layout.key[index(ColumnRole::hashes)].empty()) layout.prefix_block = 512;
    return layout;
}

void order_columns(Layout& layout) {
    layout.order.clear();
    for (std::size_t role = 0; role < kRoles; ++role) {
        if (layout.column[role] >= 0)
            layout.order.emplace_back(layout.column[role], static_cast<ColumnRole>(role));
    }
    std::sort(layout.order.begin(), layout.order.end());
}

void place_columns(Layout& layout, std::span<const std::string> names) {
    for (std::size_t role = 0; role < kRoles; ++role) {
        const std::string& key = layout.key[role];
        if (!key.empty() && key.front() == '#') continue;
        const auto found = std::find(names.begin(), names.end(), key);
        const bool there = !key.empty() && found != names.end();
        layout.column[role] = there ? static_cast<int>(found - names.begin()) : -1;
    }
    order_columns(layout);
}

}  // namespace

Layout detect(const std::string& path, std::string_view first, const TraceOptions& options) {
    const bool json = !first.empty() && first.find_first_not_of(" \t") < first.size() &&
                      first[first.find_first_not_of(" \t")] == '{';
    const char delimiter = delimiter_of(first);
    const std::vector<std::string> names = json ? json_keys(first) : split(first, delimiter);
    Layout layout;
    if (!options.columns.empty()) {
        layout = of_columns(options, names, json);
    } else {
        const auto found = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& known) {
            return known.json == json && (options.format.empty() || options.format == known.format) &&
                   matches(known, names);
        });
        if (found == kKnown.end()) {
            const auto formats = trace_format_names();
            const bool wrong = !options.format.empty() &&
                               std::find(formats.begin(), formats.end(), options.format) == formats.end();
            if (wrong) {
                refuse("--trace-format", "",
                       fmt::format("\"{}\" is none of {}", options.format, fmt::join(formats, ", ")),
                       did_you_mean(options.format, formats));
            }
            refuse(path, "",
                   fmt::format(
                       "{} with {} is no {} trace; name its columns with --columns arrival=...,input=...,"
                       "output=...,unit=...",
                       json ? "JSONL" : "a table",
                       names.empty() ? std::string("no readable first row")
                                     : fmt::format("the columns {}", fmt::join(names, ", ")),
                       options.format.empty() ? "known" : options.format));
        }
        layout = of_known(*found, names);
    }
    layout.delimiter = delimiter;
    if (!json) place_columns(layout, names);
    if (options.prefix_block > 0) layout.prefix_block = options.prefix_block;
    return layout;
}

Layout only(const Layout& layout, std::initializer_list<ColumnRole> roles) {
    Layout some = layout;
    for (std::size_t role = 0; role < kRoles; ++role) {
        if (std::find(roles.begin(), roles.end(), static_cast<ColumnRole>(role)) != roles.end()) continue;
        some.key[role].clear();
        some.column[role] = -1;
    }
    order_columns(some);
    return some;
}

}  // namespace headroom::trace

namespace headroom {

std::vector<std::string> trace_format_names() {
    std::vector<std::string> names;
    for (const auto& known : trace::kKnown) {
        if (std::find(names.begin(), names.end(), known.format) == names.end())
            names.emplace_back(known.format);
    }
    return names;
}

}  // namespace headroom
