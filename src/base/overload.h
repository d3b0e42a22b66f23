// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom {

/// One function per alternative of a variant: `std::visit(Overload{[](A) {...}, [](B) {...}}, variant)`.
template <class... F>
struct Overload : F... {
    using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

}  // namespace headroom
