// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/quantity.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

/// The number types that hardware computes in and memory holds. Values are ordered as they are printed.
enum class ElementType { fp64, fp32, tf32, bf16, fp16, fp8, int8, fp6, int4, fp4 };

inline constexpr std::array kElementTypes{
    std::pair<ElementType, std::string_view>{ElementType::fp64, "fp64"},
    std::pair<ElementType, std::string_view>{ElementType::fp32, "fp32"},
    std::pair<ElementType, std::string_view>{ElementType::tf32, "tf32"},
    std::pair<ElementType, std::string_view>{ElementType::bf16, "bf16"},
    std::pair<ElementType, std::string_view>{ElementType::fp16, "fp16"},
    std::pair<ElementType, std::string_view>{ElementType::fp8, "fp8"},
    std::pair<ElementType, std::string_view>{ElementType::int8, "int8"},
    std::pair<ElementType, std::string_view>{ElementType::fp6, "fp6"},
    std::pair<ElementType, std::string_view>{ElementType::int4, "int4"},
    std::pair<ElementType, std::string_view>{ElementType::fp4, "fp4"},
};

constexpr std::string_view to_string(ElementType type) {
    for (const auto& [value, name] : kElementTypes) {
        if (value == type) return name;
    }
    return "";
}

constexpr double bits(ElementType type) {
    switch (type) {
        case ElementType::fp64:
            return 64;
        case ElementType::fp32:
            return 32;
        case ElementType::tf32:
            return 32;
        case ElementType::bf16:
            return 16;
        case ElementType::fp16:
            return 16;
        case ElementType::fp8:
            return 8;
        case ElementType::int8:
            return 8;
        case ElementType::fp6:
            return 6;
        case ElementType::int4:
            return 4;
        case ElementType::fp4:
            return 4;
    }
    return 0;
}

/// How a matrix is stored: its elements, and the scale and zero point that a group of them shares.
/// Bytes per parameter are derived from this, never typed.
struct StorageFormat {
    ElementType element = ElementType::bf16;
    int group = 0;  ///< elements along the input dimension that share a scale; 0: one scale per tensor or row
    int group_rows = 1;       ///< output rows that share a scale: 128 for fp8 blocks of 128 x 128
    int scale_bits = 0;       ///< bits of a group's scale
    int zero_bits = 0;        ///< bits of a group's zero point
    bool weight_only = true;  ///< activations stay at 16 bits, so the product is computed at 16 bits

    constexpr bool operator==(const StorageFormat&) const = default;
};

/// Bytes of one stored element with its share of the group's scale and zero point.
constexpr Bytes bytes_per_element(const StorageFormat& f) {
    const double shared =
        f.group == 0 ? 0.0 : double(f.scale_bits + f.zero_bits) / (double(f.group) * f.group_rows);
    return Bytes((bits(f.element) + shared) / 8.0);
}

/// The type that a product with weights of this format is computed in, where the device has it.
constexpr ElementType compute_type(const StorageFormat& f) {
    if (bits(f.element) < 16 && f.weight_only) return ElementType::bf16;
    return f.element;
}

/// Names as on the command line and in YAML: `bf16 fp16 fp32 fp8 int8 int4 nvfp4 mxfp4 mxfp8 nf4`, and
/// `fp8-block128` (128 x 128 blocks, fp32 scale). Suffixes give other groups: `int4-g32` (fp16 scale per 32),
/// `-zp` and `-z16` (zero point as wide as an element, or of 16 bits), `-s32` (bits of the scale), `-r128`
/// (rows of a block), `-w` (weights only), `-act` (activations too).
std::optional<StorageFormat> storage_format(std::string_view name);
std::string to_string(const StorageFormat& format);  ///< a name that reads back as the same format
std::vector<std::string> storage_format_names();     ///< those without suffixes

/// What a tensor is for. Engines quantize by role, so formats are chosen by role.
enum class Role { embedding, head, norm, router, attention, ffn, expert, shared_expert, state };

inline constexpr std::array kRoles{
    std::pair<Role, std::string_view>{Role::embedding, "embedding"},
    std::pair<Role, std::string_view>{Role::head, "head"},
    std::pair<Role, std::string_view>{Role::norm, "norm"},
    std::pair<Role, std::string_view>{Role::router, "router"},
    std::pair<Role, std::string_view>{Role::attention, "attention"},
    std::pair<Role, std::string_view>{Role::ffn, "ffn"},
    std::pair<Role, std::string_view>{Role::expert, "expert"},
    std::pair<Role, std::string_view>{Role::shared_expert, "shared_expert"},
    std::pair<Role, std::string_view>{Role::state, "state"},
};

/// Storage by role. `attention` covers every projection of a mixer, linear-attention and state-space ones
/// too; `state` their small recurrent parameters (decay, convolution).
struct Formats {
    std::array<StorageFormat, kRoles.size()> by_role{};

    constexpr const StorageFormat& operator[](Role role) const {
        return by_role[static_cast<std::size_t>(role)];
    }
    constexpr StorageFormat& operator[](Role role) { return by_role[static_cast<std::size_t>(role)]; }
    constexpr bool operator==(const Formats&) const = default;
};

/// Every role in one format.
Formats uniform_formats(const StorageFormat& format);

}  // namespace headroom
