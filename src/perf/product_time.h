// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/ceilings.h"

namespace headroom {

/// `groups` products of m x k by k x n. Element sizes in bytes; weights are the k x n side.
struct ProductShape {
    double m = 0;
    double n = 0;
    double k = 0;
    ProductKind kind = ProductKind::Half;
    double weight_element = 2;
    double input_element = 2;
    double output_element = 2;
    double groups = 1;
    FlopRate peak;                ///< matrix rate of the computed type; zero: that of `kind`
    bool quantise_input = false;  ///< the 16-bit input is quantised in front of the product
};

/// Where a kernel's time goes. `total` is not the sum: compute and memory overlap (see `overlap`).
struct KernelTime {
    Seconds launch;
    Seconds compute;
    Seconds memory;
    Seconds total;
};

/// Two activities that share a kernel: sqrt(a^2 + b^2), between perfect overlap (the longer) and none (the
/// sum). One form for every kernel, so that no kernel has an exponent of its own to fit.
Seconds overlap(Seconds a, Seconds b);

/// The least of several tile shapes and splits over k. One block of bm x bn needs, for each step of k, the
/// longer of its matrix work and of loading its operands into the SM; blocks run in waves over the SMs; the
/// whole overlaps with streaming the operands from memory once:
///   launch + overlap(ceil(q / r) fill + q ks step, bytes / rate), q = ceil(tiles splits / SMs), r blocks at
///   once
KernelTime product_time(const ProductShape& shape, const Ceilings& ceilings);

/// The matrix peak that `kind` runs at.
FlopRate matrix_peak(const Peaks& peaks, ProductKind kind);

}  // namespace headroom
