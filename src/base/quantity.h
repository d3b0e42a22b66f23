// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>

namespace headroom {

/// Exponents of the base units that a quantity is made of.
struct Dimension {
    int byte = 0;
    int flop = 0;
    int second = 0;
    int token = 0;
    int joule = 0;
    int usd = 0;

    constexpr bool operator==(const Dimension&) const = default;
};

constexpr Dimension operator*(Dimension a, Dimension b) {
    return {a.byte + b.byte,   a.flop + b.flop,   a.second + b.second,
            a.token + b.token, a.joule + b.joule, a.usd + b.usd};
}

constexpr Dimension operator/(Dimension a, Dimension b) {
    return {a.byte - b.byte,   a.flop - b.flop,   a.second - b.second,
            a.token - b.token, a.joule - b.joule, a.usd - b.usd};
}

/// A double in base units (byte, FLOP, second, token, joule, US dollar) that knows its dimension.
/// There is no implicit way in or out: `80 * GB` in, `q.in(GB)` out. A ratio of equals is a plain double.
template <Dimension D>
class Quantity {
  public:
    constexpr Quantity() = default;
    constexpr explicit Quantity(double base_units) : value_(base_units) {}

    constexpr double in(Quantity unit) const { return value_ / unit.value_; }
    constexpr double base() const { return value_; }

    constexpr auto operator<=>(const Quantity&) const = default;
    constexpr Quantity operator-() const { return Quantity(-value_); }
    constexpr Quantity& operator+=(Quantity other) { return value_ += other.value_, *this; }
    constexpr Quantity& operator-=(Quantity other) { return value_ -= other.value_, *this; }
    constexpr Quantity& operator*=(double factor) { return value_ *= factor, *this; }
    constexpr Quantity& operator/=(double divisor) { return value_ /= divisor, *this; }

    friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
    friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
    friend constexpr Quantity operator*(double a, Quantity b) { return Quantity(a * b.value_); }
    friend constexpr Quantity operator*(Quantity a, double b) { return Quantity(a.value_ * b); }
    friend constexpr Quantity operator/(Quantity a, double b) { return Quantity(a.value_ / b); }

  private:
    double value_ = 0.0;
};

namespace detail {
template <Dimension D>
constexpr auto dimensioned(double value) {
    if constexpr (D == Dimension{}) {
        return value;
    } else {
        return Quantity<D>(value);
    }
}
}  // namespace detail

template <Dimension A, Dimension B>
constexpr auto operator*(Quantity<A> a, Quantity<B> b) {
    return detail::dimensioned<A * B>(a.base() * b.base());
}

template <Dimension A, Dimension B>
constexpr auto operator/(Quantity<A> a, Quantity<B> b) {
    return detail::dimensioned<A / B>(a.base() / b.base());
}

template <Dimension A>
constexpr auto operator/(double a, Quantity<A> b) {
    return Quantity<Dimension{} / A>(a / b.base());
}

using Bytes = Quantity<Dimension{.byte = 1}>;
using Flops = Quantity<Dimension{.flop = 1}>;  ///< a count of operations, not a rate
using Seconds = Quantity<Dimension{.second = 1}>;
using Tokens = Quantity<Dimension{.token = 1}>;
using Joules = Quantity<Dimension{.joule = 1}>;
using Dollars = Quantity<Dimension{.usd = 1}>;
using Frequency = Quantity<Dimension{.second = -1}>;
using Bandwidth = Quantity<Dimension{.byte = 1, .second = -1}>;
using FlopRate = Quantity<Dimension{.flop = 1, .second = -1}>;
using TokenRate = Quantity<Dimension{.second = -1, .token = 1}>;
using Watts = Quantity<Dimension{.second = -1, .joule = 1}>;
using DollarRate = Quantity<Dimension{.second = -1, .usd = 1}>;
using BytesPerToken = Quantity<Dimension{.byte = 1, .token = -1}>;
using Intensity = Quantity<Dimension{.byte = -1, .flop = 1}>;

inline constexpr Bytes byte{1}, kB{1e3}, MB{1e6}, GB{1e9}, TB{1e12};
inline constexpr Bytes KiB{1024.0}, MiB{1048576.0}, GiB{1073741824.0}, TiB{1099511627776.0};
inline constexpr Flops flop{1}, GFLOP{1e9}, TFLOP{1e12}, PFLOP{1e15};
inline constexpr Seconds second{1}, ms{1e-3}, us{1e-6}, ns{1e-9}, hour{3600};
inline constexpr Tokens token{1};
inline constexpr Frequency hertz{1}, MHz{1e6}, GHz{1e9};
inline constexpr Watts watt{1};
inline constexpr Dollars usd{1};

template <Dimension D>
constexpr Quantity<D> min(Quantity<D> a, Quantity<D> b) {
    return b < a ? b : a;
}

template <Dimension D>
constexpr Quantity<D> max(Quantity<D> a, Quantity<D> b) {
    return a < b ? b : a;
}

}  // namespace headroom
