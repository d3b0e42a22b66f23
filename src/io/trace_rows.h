// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/diagnostic.h"
#include "io/line_reader.h"
#include "io/trace_format.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace headroom::trace {

/// Faulty rows: the first ones with their place, all of them counted by kind.
class RowFaults {
  public:
    void add(Location where, std::string_view kind, std::string_view text);
    std::int64_t count() const { return count_; }
    const std::vector<Diagnostic>& located() const { return located_; }
    std::string by_kind() const;  ///< "3 zero output tokens, 1 no arrival time"

  private:
    static constexpr std::size_t kLocated = 5;
    std::int64_t count_ = 0;
    std::vector<Diagnostic> located_;
    std::map<std::string, std::int64_t, std::less<>> kinds_;
};

/// One pass over a trace in the order of the file.
class Rows {
  public:
    Rows(const std::string& path, const Layout& layout, const TraceOptions& options);

    /// Arrival alone, in ns on the file's own clock; rows without one are passed over. False at the end.
    bool next_arrival(std::int64_t& at);
    /// A whole row; faulty ones are passed over and kept in `faults`. False at the end. InputError where an
    /// output length is missing and none is assumed.
    bool next(std::int64_t& at, Request& request);

    RowFaults faults;
    std::int64_t rows = 0;
    std::int64_t outputs_assumed = 0;
    std::int64_t hash_counts_off = 0;  ///< rows whose hashes are not one for each block begun
    std::int64_t bytes() const { return lines_.bytes(); }

  private:
    bool next_fields(std::string_view& line, Fields& fields);
    std::optional<std::int64_t> arrival(const Fields& fields);
    bool fill(const Fields& fields, Request& request);
    bool reject(std::string_view field, std::string_view kind);
    Location place(std::string_view field) const;

    std::string path_;
    Layout layout_;
    TraceOptions options_;
    LineReader lines_;
    std::string_view line_;
    bool has_arrivals_ = false;
    bool past_header_ = false;
    std::int64_t last_ = 0;
    std::unordered_map<std::int64_t, std::int64_t> session_last_;  // only where rows give delays
};

}  // namespace headroom::trace
