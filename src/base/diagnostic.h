// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// A place in an input. `line` and `column` count from 1; 0 means that the input has none (an option, a
/// missing file).
struct Location {
    std::string file;
    int line = 0;
    int column = 0;
};

/// One fault of an input: where, which key (a dotted path, may be empty), what, and what was probably meant.
struct Diagnostic {
    Location where;
    std::string key;
    std::string message;
    std::string suggestion;
};

/// `file:line:column: error: key: message; did you mean "..."?`, the parts that are empty left out.
std::string to_string(const Diagnostic& diagnostic);

/// Thrown by io and by option parsing with every fault that was found; `main` prints them and exits with 2.
class InputError : public std::exception {
  public:
    explicit InputError(std::vector<Diagnostic> diagnostics);

    const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
    const char* what() const noexcept override { return text_.c_str(); }

  private:
    std::vector<Diagnostic> diagnostics_;
    std::string text_;
};

/// Throws an InputError of one fault. `origin` is a file, an option or "".
[[noreturn]] void refuse(std::string origin, std::string key, std::string message,
                         std::string suggestion = "");

/// The candidate nearest to `word` by edit distance (case ignored), or "" when none is near enough to be
/// meant.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace headroom
