// SPDX-License-Identifier: Apache-2.0
#include "validate/gguf.h"

#include "base/diagnostic.h"
#include "ops/tensor.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace headroom {
namespace {

struct Block {
    const char* name;
    double bytes;    ///< of a block
    double weights;  ///< in it
};

// ggml's block layouts: quants, and the scales and minima of their sub-blocks.
constexpr Block kBlocks[] = {
    {"F32", 4, 1},      {"F16", 2, 1},      {"BF16", 2, 1},       {"Q8_0", 34, 32}, {"Q6_K", 210, 256},
    {"Q5_1", 24, 32},   {"Q5_0", 22, 32},   {"Q5_K", 176, 256},   {"Q4_1", 20, 32}, {"Q4_0", 18, 32},
    {"Q4_K", 144, 256}, {"IQ4_NL", 18, 32}, {"IQ4_XS", 136, 256},
};

/// The quantizer's `use_more_bits`: the first and last eighth of the layers, and every third between.
double share_with_more_bits(int layers) {
    int count = 0;
    for (int i = 0; i < layers; ++i) {
        if (i < layers / 8 || i >= 7 * layers / 8 || (i - layers / 8) % 3 == 2) ++count;
    }
    return static_cast<double>(count) / layers;
}

/// A format of this many bits per weight; the scales are spread over a group so large that any mean is met.
StorageFormat format_of_bits(double bits) {
    StorageFormat f;
    if (bits >= 32) return *storage_format("fp32");
    if (bits >= 16) return *storage_format("fp16");
    f.element = bits >= 8 ? ElementType::int8 : ElementType::int4;
    f.group = 4096;
    f.scale_bits = static_cast<int>(std::lround((bits - headroom::bits(f.element)) * f.group));
    return f;
}

double value_share(const Model& model) {
    for (const Layer& layer : model.kinds) {
        if (const auto* a = std::get_if<SoftmaxAttention>(&layer.mixer))
            return a->kv_heads / (2.0 * a->heads + 2.0 * a->kv_heads);
    }
    return 0;
}

double down_share(const Model& model) {
    for (const Layer& layer : model.kinds) {
        if (const auto* dense = std::get_if<DenseFeedForward>(&layer.feed_forward))
            return dense->gated ? 1.0 / 3 : 0.5;
    }
    return 1.0 / 3;
}

}  // namespace

double gguf_bits(const std::string& block) {
    for (const Block& b : kBlocks) {
        if (block == b.name) return 8 * b.bytes / b.weights;
    }
    return 0;
}

std::string gguf_type(const std::string& text) {
    // "Q4_K - Medium" is one name; elsewhere spaces part words ("8B F16" is no BF16).
    std::string upper;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool beside =
            text[i] == ' ' && ((i > 0 && text[i - 1] == '-') || (i + 1 < text.size() && text[i + 1] == '-'));
        if (!beside) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(text[i])));
    }
    const auto has = [&](const std::string& part) { return upper.find(part) != std::string::npos; };
    for (const std::string base : {"Q4_K", "Q5_K"}) {
        if (has(base + "-MEDIUM") || has(base + "_M")) return base + "_M";
        if (has(base + "-SMALL") || has(base + "_S")) return base + "_S";
    }
    for (const char* name :
         {"Q6_K", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_XS", "IQ4_NL", "BF16", "F16", "F32"}) {
        if (has(name)) return name;
    }
    return "";
}

Model with_gguf(Model model, const std::string& type) {
    const bool medium = type == "Q4_K_M" || type == "Q5_K_M";
    const bool small = type == "Q4_K_S" || type == "Q5_K_S";
    const double base = gguf_bits(medium || small ? type.substr(0, 4) : type);
    if (base <= 0) refuse("", "", "'" + type + "' is no GGUF weight type known here");
    const int layers = static_cast<int>(model.layout.size());
    // How much of the values and down projections is at more bits, and at how many.
    double more = 0, many = base, value_base = base;
    if (medium) {
        more = share_with_more_bits(layers);
        many = gguf_bits("Q6_K");
        // Of an 80-layer model the quantizer keeps every value projection at Q5_K at least: eight query heads
        // share it.
        if (layers == 80) value_base = std::max(base, gguf_bits("Q5_K"));
    } else if (small) {
        more = (layers / 8) / static_cast<double>(layers);
        many = gguf_bits(type == "Q4_K_S" ? "Q5_K" : "Q6_K");
    }
    const auto mean = [&](double share, double rest) {
        return (1 - share) * base + share * ((1 - more) * rest + more * many);
    };
    const StorageFormat plain = format_of_bits(base);
    Formats formats = model.formats;
    for (const Role role : {Role::embedding, Role::attention, Role::ffn, Role::expert, Role::shared_expert})
        formats[role] = plain;
    formats[Role::attention] = format_of_bits(mean(value_share(model), value_base));
    formats[Role::ffn] = format_of_bits(mean(down_share(model), base));
    formats[Role::head] = medium || small ? format_of_bits(gguf_bits("Q6_K")) : plain;
    // A tied embedding is the head, and is stored as one.
    if (model.tied_embeddings) formats[Role::embedding] = formats[Role::head];
    formats[Role::norm] = *storage_format("fp32");
    formats[Role::router] = *storage_format("fp32");
    model.formats = formats;
    for (Layer& layer : model.kinds) layer.formats.reset();
    model.kv_format = storage_format("fp16");
    return model;
}

}  // namespace headroom
