// SPDX-License-Identifier: Apache-2.0
#include "io/trace_format.h"

namespace headroom::trace {
namespace {

std::string_view trimmed(const char* from, const char* to) {
    while (from < to && (*from == ' ' || *from == '\t')) ++from;
    while (from < to && (to[-1] == ' ' || to[-1] == '\t')) --to;
    if (to - from >= 2 && *from == '"' && to[-1] == '"') ++from, --to;
    return {from, static_cast<std::size_t>(to - from)};
}

// The end of the field that begins at `at`: the delimiter, or the line's end.
const char* field_end(const char* at, const char* end, char delimiter) {
    if (at < end && *at == '"') {  // a quote within is doubled, so that the states still alternate
        bool inside = false;
        for (; at < end && (inside || *at != delimiter); ++at) inside ^= *at == '"';
        return at;
    }
    while (at < end && *at != delimiter) ++at;
    return at;
}

// A cursor over one line of JSON that knows where values end but not what they mean.
struct Cursor {
    const char* at;
    const char* end;

    void blanks() {
        while (at < end && (*at == ' ' || *at == '\t')) ++at;
    }
    bool take(char c) {
        blanks();
        if (at == end || *at != c) return false;
        ++at;
        return true;
    }
    // The text between the quotes; escapes are stepped over, not decoded.
    bool quoted(std::string_view& text) {
        if (!take('"')) return false;
        const char* from = at;
        for (; at < end && *at != '"'; ++at) {
            if (*at == '\\' && at + 1 < end) ++at;
        }
        text = {from, static_cast<std::size_t>(at - from)};
        return at < end && *at++ == '"';
    }
    bool value(std::string_view& text) {
        blanks();
        if (at < end && *at == '"') return quoted(text);
        const char* from = at;
        if (at < end && (*at == '[' || *at == '{')) {
            if (!nested()) return false;
        } else {
            while (at < end && *at != ',' && *at != '}' && *at != ' ') ++at;
        }
        text = {from, static_cast<std::size_t>(at - from)};
        return !text.empty();
    }
    bool nested() {
        int depth = 0;
        do {
            if (at == end) return false;
            if (*at == '"') {
                std::string_view ignored;
                if (!quoted(ignored)) return false;
                continue;
            }
            depth += *at == '[' || *at == '{' ? 1 : *at == ']' || *at == '}' ? -1 : 0;
            ++at;
        } while (depth > 0);
        return true;
    }
};

// Calls `found(key, value)` for every top-level pair.
template <class Found>
bool walk(std::string_view line, const Found& found) {
    Cursor cursor{line.data(), line.data() + line.size()};
    if (!cursor.take('{')) return false;
    if (cursor.take('}')) return true;
    do {
        std::string_view key, value;
        if (!cursor.quoted(key) || !cursor.take(':') || !cursor.value(value)) return false;
        found(key, value);
    } while (cursor.take(','));
    if (!cursor.take('}')) return false;
    cursor.blanks();
    return cursor.at == cursor.end;
}

}  // namespace

bool scan_csv(std::string_view line, const Layout& layout, Fields& fields) {
    const char* at = line.data();
    const char* const end = at + line.size();
    int column = 0;
    for (const auto& [wanted, role] : layout.order) {
        for (; column < wanted; ++column) {
            at = field_end(at, end, layout.delimiter);
            if (at++ == end) return false;
        }
        fields[role] = trimmed(at, field_end(at, end, layout.delimiter));
    }
    return true;
}

bool scan_json(std::string_view line, const Layout& layout, Fields& fields) {
    return walk(line, [&](std::string_view key, std::string_view value) {
        for (std::size_t role = 0; role < kRoles; ++role) {
            if (key == layout.key[role] && value != "null") fields.text[role] = value;
        }
    });
}

std::vector<std::string> json_keys(std::string_view line) {
    std::vector<std::string> keys;
    const bool whole = walk(line, [&](std::string_view key, std::string_view) { keys.emplace_back(key); });
    return whole ? keys : std::vector<std::string>{};
}

}  // namespace headroom::trace
