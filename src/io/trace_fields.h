// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace headroom::trace {

/// What a column or key of a trace can be for.
enum class ColumnRole { arrival, input, output, session, parent, hashes, delay };
inline constexpr std::size_t kRoles = 7;
inline constexpr std::array<std::string_view, kRoles> kRoleNames{"arrival", "input",  "output", "session",
                                                                 "parent",  "hashes", "delay"};
constexpr std::size_t index(ColumnRole role) { return static_cast<std::size_t>(role); }

/// The texts of one row by role; empty where the row has none. Quotes of strings are taken off.
struct Fields {
    std::array<std::string_view, kRoles> text;
    std::string_view& operator[](ColumnRole role) { return text[index(role)]; }
    const std::string_view& operator[](ColumnRole role) const { return text[index(role)]; }
};

enum class TimeUnit { ns, us, ms, s, date };

/// A time as whole nanoseconds (since 1970 for a date), exact for up to 9 decimals of a second. Nothing when
/// it is not a time. Dates are `2023-11-16 18:15:46.6805900`, the fraction and the offset (`Z`, `+00:00`)
/// optional, `T` or a blank between.
std::optional<std::int64_t> parse_time(std::string_view text, TimeUnit unit);

/// A whole number; a fraction of zeros is allowed (`374.0`, as data frames write counts beside gaps).
std::optional<std::int64_t> parse_whole(std::string_view text);

/// A session or turn: a number as it is, any other text as its hash (never negative).
std::int64_t identity(std::string_view text);

/// The elements of `[46, 47, "a3f0"]`: numbers as they are, strings by their hash. False when it is no such
/// list.
bool parse_hashes(std::string_view text, std::vector<std::uint64_t>& hashes);

}  // namespace headroom::trace
