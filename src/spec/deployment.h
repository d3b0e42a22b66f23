// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom {

/// How a model is spread. One replica uses tp * pp * dp * cp GPUs; experts are spread over ep of the tp * dp
/// GPUs of a stage.
struct Deployment {
    int tp = 1;  ///< tensor parallel: every layer's matrices are cut
    int pp = 1;  ///< pipeline stages: layers are dealt out
    int ep = 1;  ///< expert parallel: whole experts are dealt out
    int dp = 1;  ///< data-parallel attention: each rank has its own sequences and the whole attention weights
    int cp =
        1;  ///< context parallel: a sequence's tokens, and with them its cache, are cut over so many GPUs
};

constexpr int gpus(const Deployment& d) { return d.tp * d.pp * d.dp * d.cp; }

}  // namespace headroom
