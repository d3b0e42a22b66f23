// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/precision.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

/// Dimensions that one computation may have; tile extents are kept in fixed arrays of this size.
inline constexpr std::size_t kMostDimensions = 16;

struct LoopDimension {
    std::string name;
    std::int64_t size = 1;
};

/// `factor` times the index of a dimension.
struct IndexTerm {
    int dimension = 0;
    std::int64_t factor = 1;
};

/// One axis of a tensor as an affine sum of indices, e.g. 2 y + r of a strided convolution. Constant offsets
/// move a tile without resizing it, so they are not kept.
using Axis = std::vector<IndexTerm>;

/// A tensor as one statement indexes it.
struct Access {
    int tensor = 0;
    std::vector<Axis> axes;
};

struct NestTensor {
    std::string name;
    ElementType type = ElementType::fp16;
    Access shape;  ///< the index it was declared with: its size, and the default of every use
};

/// product: out += a * b (2 FLOP per point, on the matrix units); elementwise and reduction: `operations`
/// vector operations per point.
enum class StatementKind { product, elementwise, reduction };

inline constexpr std::array kStatementKinds{
    std::pair{StatementKind::product, std::string_view("product")},
    std::pair{StatementKind::elementwise, std::string_view("elementwise")},
    std::pair{StatementKind::reduction, std::string_view("reduction")},
};

/// One statement, executed once for every point of the dimensions that its operands index. Dimensions that
/// the output lacks are summed over.
struct Statement {
    std::string name;
    StatementKind kind = StatementKind::product;
    Access output;
    std::vector<Access> inputs;
    std::int64_t operations = 1;
    /// A partial result may be read while the reduction still runs, because these tensors are rescaled when
    /// it changes (online softmax: a new row maximum rescales the row sum and the output).
    bool streamable = false;
    std::vector<int> rescales;
    /// Carries its result from one index of this dimension to the next (a recurrent state); -1: none.
    int scan = -1;
};

/// What is computed, whatever the order: a chain of statements over dimensions. Each tensor is the output of
/// at most one statement.
struct Computation {
    std::string name;
    std::vector<LoopDimension> dimensions;
    std::vector<NestTensor> tensors;
    std::vector<Statement> statements;
};

}  // namespace headroom
