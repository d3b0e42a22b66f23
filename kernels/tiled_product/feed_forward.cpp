// SPDX-License-Identifier: Apache-2.0
#include "tiled_product/feed_forward.h"

#include "tiled_product/tiled_product.h"

namespace headroom::kernels {

FeedForward::FeedForward(int tokens, int hidden, int inner, bool gated, bool fused)
    : tokens_(tokens), hidden_(hidden), inner_(inner), gated_(gated), fused_(fused) {
    const auto bytes = static_cast<std::size_t>(tokens) * static_cast<std::size_t>(inner) * 2;
    activated_ = DeviceBuffer(bytes);
    if (fused) return;
    up_ = DeviceBuffer(bytes);
    if (gated) gate_ = DeviceBuffer(bytes);
}

void FeedForward::run(const void* x, const Weights& weights, void* y, Stream stream) const {
    const TiledProductShape widen{tokens_, hidden_, inner_, inner_};
    if (fused_) {
        tiled_product(gated_ ? Epilogue::kGated : Epilogue::kGelu, widen, x, weights.up, weights.gate,
                      activated_.data(), stream);
    } else {
        tiled_product(Epilogue::kStore, widen, x, weights.up, nullptr, up_.data(), stream);
        if (gated_) tiled_product(Epilogue::kStore, widen, x, weights.gate, nullptr, gate_.data(), stream);
        activation(tokens_, inner_, up_.data(), gated_ ? gate_.data() : nullptr, activated_.data(), stream);
    }
    tiled_product(Epilogue::kStore, {tokens_, inner_, hidden_, hidden_}, activated_.data(), weights.down,
                  nullptr, y, stream);
}

}  // namespace headroom::kernels
