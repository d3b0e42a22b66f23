// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace headroom {

/// The lines of a text file, plain or compressed by gzip or zstd (known by their first bytes, whatever the
/// name). Memory is a buffer of the longest line. Ends of line are LF or CRLF; the last may be missing.
class LineReader {
  public:
    /// InputError when the file cannot be opened.
    explicit LineReader(const std::string& path);
    ~LineReader();
    LineReader(LineReader&&) noexcept;

    /// The next line without its end; false at the end of the file. The view lives until the next call.
    /// InputError when a compressed file is damaged or a line is longer than 256 MiB.
    bool next(std::string_view& line);

    std::int64_t line_number() const;        ///< of the last line, from 1
    std::int64_t bytes() const;              ///< of text given out so far
    const std::string& compression() const;  ///< "", "gzip" or "zstd"

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace headroom
