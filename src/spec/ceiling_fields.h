// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/ceilings.h"

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Pieces of the table in ceilings.cpp, for the files that fill it.

namespace headroom::ceiling_fields {

constexpr double base_units(double value) { return value; }

template <Dimension D>
constexpr double base_units(Quantity<D> value) {
    return value.base();
}

template <typename T>
void assign(T& field, double base) {
    field = T(base);
}

/// What a path of members and array places leads to.
template <auto Step, auto... Rest, class T>
constexpr auto& follow(T& from) {
    if constexpr (sizeof...(Rest) > 0)
        return follow<Rest...>(follow<Step>(from));
    else if constexpr (std::is_member_object_pointer_v<decltype(Step)>)
        return from.*Step;
    else
        return from[static_cast<std::size_t>(Step)];
}

/// The parameter at the end of a path from `Ceilings`; bounds in the base units of its field.
template <auto... Path>
CeilingParameter field(std::string name, std::string_view unit, double low, double high,
                       std::string_view meaning) {
    return {std::move(name),
            unit,
            low,
            high,
            meaning,
            [](const Ceilings& c) { return base_units(follow<Path...>(c)); },
            [](Ceilings& c, double value) { assign(follow<Path...>(c), value); }};
}

/// Of every group; its bounds and meaning.
constexpr double spread_low = 1;
constexpr double spread_high = 5;
constexpr std::string_view spread_meaning = "nine in ten calls lie within this factor";

constexpr double micro = 1e-6;
constexpr double giga = 1e9;
constexpr double tera = 1e12;

/// The kernels in kernels/ (ceilings_bundled.cpp).
void add_bundled(std::vector<CeilingParameter>& list);

}  // namespace headroom::ceiling_fields
