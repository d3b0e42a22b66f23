// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/ceilings.h"

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
