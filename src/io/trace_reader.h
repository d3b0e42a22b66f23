// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/request.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// How to read a trace. Everything is found out from the file where it is left empty.
struct TraceOptions {
    std::string format;  ///< a name of `trace_format_names`; "": detected from the content
    /// `--columns`: arrival, input, output, session, parent, hashes, delay to a column name or JSON key (in a
    /// CSV without a header `#1`, `#2`...), and `unit` to ns, us, ms, s or date. Empty: by the format.
    std::map<std::string, std::string> columns;
    std::optional<std::int64_t> assume_output;  ///< for rows without an output length
    int prefix_block = 0;                       ///< tokens per hash; 0: by the format
};

/// What was found while reading. Complete when the reader has returned false.
struct TraceReport {
    std::string format;       ///< "azure", ...
    std::string compression;  ///< "", "gzip", "zstd"
    std::int64_t rows = 0;    ///< data rows seen, the skipped ones included
    std::int64_t rows_skipped = 0;
    std::int64_t rows_out_of_order = 0;
    std::int64_t outputs_assumed = 0;
    std::vector<std::string> notes;  ///< the first faults with file, line and column, then counts by kind
};

/// Reads a trace in order of arrival, a row at a time. The first pass (inside the constructor) reads only the
/// arrivals and learns how far rows are out of order, so that the second can sort with a window of that many
/// rows: memory is the window, at most `kSortWindow` rows unless a file is worse, which is then sorted as a
/// whole (said in the notes).
class TraceReader {
  public:
    static constexpr std::int64_t kSortWindow = 65536;

    /// InputError when the file cannot be read, its format is not known or a needed column is missing.
    TraceReader(const std::string& path, const TraceOptions& options);
    ~TraceReader();
    TraceReader(TraceReader&&) noexcept;

    /// The next request; false at the end. InputError when output lengths are missing and none was assumed,
    /// or when not one row could be read.
    bool next(Request& request);
    const TraceReport& report() const;
    std::int64_t bytes_read() const;  ///< of uncompressed text in the pass that gives requests

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// What the file's first row says it is, with the compression: "azure", "mooncake (gzip)". InputError as
/// above.
std::string trace_format(const std::string& path, const TraceOptions& options);

/// Names that `TraceOptions::format` and `--trace-format` accept.
std::vector<std::string> trace_format_names();

}  // namespace headroom
