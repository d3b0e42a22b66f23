// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace headroom {

/// Why a text is not a quantity. `suggestion` is a spelling that would have been accepted, or "".
struct ParseFault {
    std::string message;
    std::string suggestion;
};

/// Reads "3.35 TB/s", "500ms", "79.19GiB": a number and a unit of dimension `wanted`, in base units.
/// A number without a unit is a fault unless it is 0, so that GB and GiB are never guessed.
std::variant<double, ParseFault> parse_quantity(std::string_view text, Dimension wanted);

/// A plain number; the whole text must be used, and it must be finite.
std::variant<double, ParseFault> parse_number(std::string_view text);

/// A whole number, decimal, with an optional suffix k, M, G (powers of 1000) or Ki, Mi (powers of 1024).
std::variant<std::int64_t, ParseFault> parse_count(std::string_view text);

/// `value` (base units) with the prefix that leaves one to three digits before the point: "3.35 TB/s", "20.9
/// ms".
std::string format_quantity(double value, Dimension dimension, int significant = 4);

template <Dimension D>
std::string format(Quantity<D> q, int significant = 4) {
    return format_quantity(q.base(), D, significant);
}

/// Bytes with a binary prefix: "79.19 GiB".
std::string format_binary(Bytes bytes, int significant = 4);

/// A plain number to `significant` digits without an exponent where it is readable: "0.345", "1234".
std::string format_number(double value, int significant = 4);

/// A count with thin grouping: "19,366".
std::string format_count(double value);

}  // namespace headroom
