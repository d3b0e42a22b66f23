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

// Columns of the vocabulary that a block has. One tile: blocks that stream several live long enough to come
// out of step, and what they share then comes from HBM several times.
constexpr int kLossPartColumns = kTileColumns;
constexpr int kActivationColumns = 2048;
constexpr int kMergeTokens = 64;

constexpr int loss_parts(int vocabulary) { return (vocabulary + kLossPartColumns - 1) / kLossPartColumns; }

}  // namespace headroom::kernels
