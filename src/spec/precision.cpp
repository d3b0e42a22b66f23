// SPDX-License-Identifier: Apache-2.0
#include "spec/precision.h"

#include <charconv>
#include <vector>

namespace headroom {
namespace {

struct Named {
    std::string_view name;
    StorageFormat format;
};

// fp8 and int8 without a group: one scale per tensor or output row, too few to matter and not counted per
// element. nvfp4: an fp8 scale per 16 (the second-level fp32 scale is one per tensor). mxfp4: an 8-bit
// exponent per 32 (OCP MX 1.0). int4 without a suffix: AWQ and GPTQ as published, groups of 128 with an fp16
// scale and a 4-bit zero point.
constexpr std::array kNamed{
    Named{"fp32", {.element = ElementType::fp32}},
    Named{"bf16", {.element = ElementType::bf16}},
    Named{"fp16", {.element = ElementType::fp16}},
    Named{"fp8", {.element = ElementType::fp8, .weight_only = false}},
    Named{"fp8-block128",
          {.element = ElementType::fp8,
           .group = 128,
           .group_rows = 128,
           .scale_bits = 32,
           .weight_only = false}},
    Named{"int8", {.element = ElementType::int8, .weight_only = false}},
    Named{"int4", {.element = ElementType::int4, .group = 128, .scale_bits = 16, .zero_bits = 4}},
    Named{"nvfp4", {.element = ElementType::fp4, .group = 16, .scale_bits = 8, .weight_only = false}},
    Named{"mxfp4", {.element = ElementType::fp4, .group = 32, .scale_bits = 8}},
};

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t to = std::min(text.find(separator, from), text.size());
        parts.push_back(text.substr(from, to - from));
        from = to + 1;
    }
    return parts;
}

// "-g128", "-zp", "-w": the group size, whether there are zero points, and weights only.
bool apply_suffix(StorageFormat& format, std::string_view suffix) {
    if (suffix == "zp") return format.zero_bits = static_cast<int>(bits(format.element)), true;
    if (suffix == "w") return format.weight_only = true, true;
    if (suffix == "act") return format.weight_only = false, true;
    if (suffix.substr(0, 1) != "g") return false;
    const char* end = suffix.data() + suffix.size();
    const auto [at, code] = std::from_chars(suffix.data() + 1, end, format.group);
    if (format.scale_bits == 0) format.scale_bits = 16;
    return code == std::errc{} && at == end && format.group > 0;
}

}  // namespace

std::optional<StorageFormat> storage_format(std::string_view name) {
    for (const Named& named : kNamed) {
        if (named.name == name) return named.format;
    }
    const auto parts = split(name, '-');
    for (const Named& named : kNamed) {
        if (named.name != parts.front()) continue;
        StorageFormat format = named.format;
        if (parts.size() > 1 && parts[1].substr(0, 1) == "g") format.zero_bits = 0;
        for (std::size_t i = 1; i < parts.size(); ++i) {
            if (!apply_suffix(format, parts[i])) return std::nullopt;
        }
        return format;
    }
    return std::nullopt;
}

std::string to_string(const StorageFormat& format) {
    for (const Named& named : kNamed) {
        if (named.format == format) return std::string(named.name);
    }
    for (const Named& named : kNamed) {
        if (named.format.element != format.element) continue;
        std::string text(named.name);
        const bool own_group =
            format.group != named.format.group || format.zero_bits != named.format.zero_bits;
        if (own_group) text += "-g" + std::to_string(format.group);
        if (own_group && format.zero_bits > 0) text += "-zp";
        if (format.weight_only != named.format.weight_only) text += format.weight_only ? "-w" : "-act";
        if (storage_format(text) == format) return text;
    }
    return std::string(to_string(format.element));
}

}  // namespace headroom
