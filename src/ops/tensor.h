// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/model.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

/// One weight: `copies` matrices of rows (outputs) x columns (inputs).
/// Tensors of one `product` share their input and are computed as one matrix product.
struct Tensor {
    std::string name;
    std::int64_t rows = 0;
    std::int64_t columns = 1;
    Role role = Role::norm;
    std::string product;  ///< "" when tokens are not multiplied by it
    std::int64_t copies = 1;
    bool shared = false;  ///< layers of its kind take turns with `Layer::copies` of it
};

constexpr double parameters(const Tensor& t) {
    return static_cast<double>(t.rows) * static_cast<double>(t.columns) * static_cast<double>(t.copies);
}

/// A matrix with an optional bias, as two tensors.
void add_linear(std::vector<Tensor>& to, const std::string& name, std::int64_t rows, std::int64_t columns,
                bool bias, Role role, const std::string& product);

/// How many of a tensor `layers` layers of this kind hold.
int held(const Layer& layer, const Tensor& tensor, int layers);

/// Every tensor of one layer of this kind, norms and extras included.
std::vector<Tensor> layer_tensors(const Model& model, const Layer& layer);

/// Every tensor outside the layers: embedding, head, final norm, extras. A tied head is no tensor of its own.
std::vector<Tensor> outer_tensors(const Model& model);

/// Totals of a model or of one GPU's part of it, summed tensor by tensor.
struct ParameterCount {
    double total = 0;
    double active = 0;                    ///< of the routed experts only top_k count
    double active_without_embedding = 0;  ///< and neither embedding nor head
};
ParameterCount count_parameters(const Model& model);

/// Bytes of all weights in their stored formats; a tied head costs nothing more. Prediction layers are not
/// included.
Bytes weight_bytes(const Model& model);

/// How a tensor is stored: as its role says, but biases beside a quantized product stay as norms are.
const StorageFormat& format_of(const Formats& formats, const Tensor& tensor);

/// The formats that a layer is stored in: its own or the model's.
const Formats& formats_of(const Model& model, const Layer& layer);

/// The model with its linear layers (attention, ffn, experts) stored as `format`, as engines quantize on
/// request; `every_matrix` also embedding, head and router.
Model with_weight_format(Model model, const StorageFormat& format, bool every_matrix);

}  // namespace headroom
