// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace headroom {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost 1 each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0u : 1u)});
            const bool swapped =
                i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
            if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
        before_last = std::exchange(last, std::exchange(row, before_last));
    }
    return last[b.size()];
}

// Whether `word` is left when letters of `whole` are struck out: something was forgotten, nothing mistyped.
bool left_out_of(std::string_view word, std::string_view whole) {
    std::size_t at = 0;
    for (const char c : whole) at += at < word.size() && lower(word[at]) == lower(c) ? 1 : 0;
    return at == word.size();
}

std::string join(const std::vector<Diagnostic>& diagnostics) {
    std::string text;
    for (const Diagnostic& d : diagnostics) text += (text.empty() ? "" : "\n") + to_string(d);
    return text;
}

}  // namespace

std::string to_string(const Diagnostic& d) {
    std::string text = d.where.file;
    if (d.where.line > 0) text += ":" + std::to_string(d.where.line) + ":" + std::to_string(d.where.column);
    text += text.empty() ? "error: " : ": error: ";
    if (!d.key.empty()) text += d.key + ": ";
    text += d.message;
    if (!d.suggestion.empty()) text += "; did you mean \"" + d.suggestion + "\"?";
    return text;
}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : diagnostics_(std::move(diagnostics)), text_(join(diagnostics_)) {}

void refuse(std::string origin, std::string key, std::string message, std::string suggestion) {
    std::vector<Diagnostic> found(1);
    found[0].where.file = std::move(origin);
    found[0].key = std::move(key);
    found[0].message = std::move(message);
    found[0].suggestion = std::move(suggestion);
    throw InputError(std::move(found));
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
    // A third of the word may be wrong: enough for slips, too little to offer an unrelated name.
    const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
    std::string best;
    std::size_t best_distance = limit + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        const bool forgot = distance == best_distance && !best.empty() && left_out_of(word, candidate) &&
                            !left_out_of(word, best);
        if (distance < best_distance || forgot) best_distance = distance, best = candidate;
    }
    return best;
}

}  // namespace headroom
