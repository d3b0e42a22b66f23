// SPDX-License-Identifier: Apache-2.0
#pragma once

// How the feed-forward and loss kernels cut their work: that of mappings/mlp-*.yaml and loss-*.yaml. Host
// code without CUDA, so that a test holds the two side by side.

namespace headroom::kernels {

constexpr int kTileTokens = 128;
constexpr int kTileColumns = 128;
constexpr int kGatedColumns = 64;  // of up and of gate each
constexpr int kTileDepth = 32;
constexpr int kTileBuffers = 3;

// Blocks are launched in groups of so many tokens, all columns of one group before the next.
constexpr int kTokenGroup = 1024;
constexpr int kLossTokenGroup = 2048;

constexpr int kLossParts = 64;  // of the vocabulary, each a block's
constexpr int kActivationColumns = 2048;
constexpr int kMergeTokens = 64;

// Columns of the vocabulary in each part but the last, which may have fewer or none.
constexpr int loss_part_columns(int vocabulary) { return (vocabulary + kLossParts - 1) / kLossParts; }

}  // namespace headroom::kernels
