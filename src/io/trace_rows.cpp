// SPDX-License-Identifier: Apache-2.0
#include "io/trace_rows.h"

#include "base/diagnostic.h"

#include <fmt/core.h>

namespace headroom::trace {
namespace {

// More than any model's context: such a number is another column, or another unit.
constexpr std::int64_t kMostTokens = 1'000'000'000;

std::string shown(std::string_view field) {
    return field.size() <= 40 ? std::string(field) : std::string(field.substr(0, 37)) + "...";
}

}  // namespace

void RowFaults::add(Location where, std::string_view kind, std::string_view text) {
    ++count_;
    ++kinds_[std::string(kind)];
    if (located_.size() >= kLocated) return;
    Diagnostic fault;
    fault.where = std::move(where);
    fault.message = text.empty() ? std::string(kind) : fmt::format("{}: \"{}\"", kind, shown(text));
    located_.push_back(std::move(fault));
}

std::string RowFaults::by_kind() const {
    std::string text;
    for (const auto& [kind, times] : kinds_)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", times, kind);
    return text;
}

Rows::Rows(const std::string& path, const Layout& layout, const TraceOptions& options)
    : path_(path), layout_(layout), options_(options), lines_(path) {
    has_arrivals_ = !layout.key[index(ColumnRole::arrival)].empty();
}

Location Rows::place(std::string_view field) const {
    const bool inside = field.data() >= line_.data() && field.data() <= line_.data() + line_.size();
    const auto column = inside && !field.empty() ? field.data() - line_.data() + 1 : 1;
    return {path_, static_cast<int>(lines_.line_number()), static_cast<int>(column)};
}

bool Rows::reject(std::string_view field, std::string_view kind) {
    faults.add(place(field), kind, field);
    return false;
}

bool Rows::next_fields(std::string_view& line, Fields& fields) {
    while (lines_.next(line)) {
        line_ = line;
        if (line.empty() || line.find_first_not_of(" \t") == std::string_view::npos) continue;
        if (!past_header_) {
            past_header_ = true;
            if (!layout_.json && layout_.header) continue;
        }
        ++rows;
        fields = Fields{};
        if (layout_.json ? scan_json(line, layout_, fields) : scan_csv(line, layout_, fields)) return true;
        reject("", layout_.json ? "not a JSON object on one line" : "too few columns");
    }
    return false;
}

std::optional<std::int64_t> Rows::arrival(const Fields& fields) {
    std::optional<std::int64_t> at;
    if (!fields[ColumnRole::arrival].empty()) {
        at = parse_time(fields[ColumnRole::arrival], layout_.unit);
    } else if (!has_arrivals_) {
        at = 0;
    }
    const bool delays =
        !layout_.key[index(ColumnRole::delay)].empty() && !fields[ColumnRole::session].empty();
    if (!delays) return at;
    // A later turn may say only how long after the one before it comes.
    const std::int64_t session = identity(fields[ColumnRole::session]);
    if (!at && !fields[ColumnRole::delay].empty()) {
        const auto before = session_last_.find(session);
        const auto delay = parse_time(fields[ColumnRole::delay], layout_.unit);
        if (before != session_last_.end() && delay) at = before->second + *delay;
    }
    if (at) session_last_[session] = *at;
    return at;
}

bool Rows::next_arrival(std::int64_t& at) {
    std::string_view line;
    Fields fields;
    while (next_fields(line, fields)) {
        if (const auto found = arrival(fields)) return at = *found, true;
    }
    return false;
}

bool Rows::next(std::int64_t& at, Request& request) {
    std::string_view line;
    Fields fields;
    while (next_fields(line, fields)) {
        const auto found = arrival(fields);
        if (!found) {
            reject(fields[ColumnRole::arrival],
                   fields[ColumnRole::arrival].empty() ? "no arrival time" : "not a time");
            continue;
        }
        if (!fill(fields, request)) continue;
        at = *found;
        return true;
    }
    return false;
}

bool Rows::fill(const Fields& fields, Request& request) {
    const std::string_view in = fields[ColumnRole::input], out = fields[ColumnRole::output];
    const auto input = parse_whole(in);
    if (!input) return reject(in, in.empty() ? "no input length" : "not a count of input tokens");
    auto output = parse_whole(out);
    if (!output && !out.empty()) return reject(out, "not a count of output tokens");
    if (!output) {
        if (!options_.assume_output) {
            refuse(fmt::format("{}:{}:1", path_, lines_.line_number()), "",
                   "no output length; --assume-output N reads such rows as N tokens");
        }
        output = options_.assume_output;
        ++outputs_assumed;
    }
    if (*input == 0) return reject("", *output == 0 ? "zero input and output tokens" : "zero input tokens");
    if (*output == 0) return reject("", "zero output tokens");
    if (*input > kMostTokens || *output > kMostTokens) return reject("", "more than 1e9 tokens");
    std::vector<std::uint64_t> hashes = std::move(request.prefix);  // keeps its memory
    request = Request{};
    request.input_tokens = *input;
    request.output_tokens = *output;
    request.prefix = std::move(hashes);
    request.prefix.clear();
    if (!fields[ColumnRole::session].empty()) request.session = identity(fields[ColumnRole::session]);
    if (!fields[ColumnRole::parent].empty()) request.parent = identity(fields[ColumnRole::parent]);
    if (fields[ColumnRole::hashes].empty()) return true;
    if (!parse_hashes(fields[ColumnRole::hashes], request.prefix)) {
        return reject(fields[ColumnRole::hashes], "not a list of hashes");
    }
    request.prefix_block = layout_.prefix_block;
    const std::int64_t begun = (*input + request.prefix_block - 1) / request.prefix_block;
    hash_counts_off += static_cast<std::int64_t>(request.prefix.size()) != begun ? 1 : 0;
    return true;
}

}  // namespace headroom::trace
