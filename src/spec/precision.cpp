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
// element. nvfp4: an fp8 scale per 16 (the second-level fp32 scale is one per tensor). mxfp4, mxfp8: an 8-bit
// exponent per 32 (OCP MX 1.0). int4: AWQ and GPTQ as published, groups of 128 with an fp16 scale and a 4-bit
// zero point. nf4: bitsandbytes, an fp32 maximum per 64; nf4-dq: those maxima at 8 bits again (their own
// scales are one per 256 of them).
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
    Named{"mxfp8", {.element = ElementType::fp8, .group = 32, .scale_bits = 8, .weight_only = false}},
    Named{"int8", {.element = ElementType::int8, .weight_only = false}},
    Named{"fp6", {.element = ElementType::fp6}},
    Named{"int4", {.element = ElementType::int4, .group = 128, .scale_bits = 16, .zero_bits = 4}},
    Named{"nf4", {.element = ElementType::int4, .group = 64, .scale_bits = 32}},
    Named{"nf4-dq", {.element = ElementType::int4, .group = 64, .scale_bits = 8}},
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

std::optional<int> number_after(std::string_view suffix, char letter) {
    if (suffix.substr(0, 1) != std::string_view(&letter, 1)) return std::nullopt;
    int value = 0;
    const char* end = suffix.data() + suffix.size();
    const auto [at, code] = std::from_chars(suffix.data() + 1, end, value);
    if (code != std::errc{} || at != end || value < 0 || value > 1'000'000) return std::nullopt;
    return value;
}

// -g128: the group; -r128: output rows of a group; -s16: bits of its scale; -z16: of its zero point, -zp: as
// many as an element; -w: weights only, -act: activations too.
bool apply_suffix(StorageFormat& format, std::string_view suffix) {
    if (suffix == "zp") return format.zero_bits = static_cast<int>(bits(format.element)), true;
    if (suffix == "w") return format.weight_only = true, true;
    if (suffix == "act") return format.weight_only = false, true;
    if (const auto group = number_after(suffix, 'g')) {
        if (format.scale_bits == 0) format.scale_bits = 16;
        return format.group = *group, *group > 0;
    }
    if (const auto rows = number_after(suffix, 'r')) return format.group_rows = *rows, *rows > 0;
    if (const auto scale = number_after(suffix, 's')) return format.scale_bits = *scale, true;
    if (const auto zero = number_after(suffix, 'z')) return format.zero_bits = *zero, true;
    return false;
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
    const Named* base = nullptr;
    for (const Named& named : kNamed) {
        if (base == nullptr && named.format.element == format.element) base = &named;
    }
    if (base == nullptr) return std::string(to_string(format.element));
    std::string text(base->name);
    StorageFormat so_far = base->format;
    const auto add = [&](const std::string& suffix) {
        text += "-" + suffix;
        apply_suffix(so_far, suffix);
    };
    if (format.group > 0 && (format.group != so_far.group || format.zero_bits != so_far.zero_bits)) {
        so_far.zero_bits = 0;
        add("g" + std::to_string(format.group));
    }
    if (format.group_rows != so_far.group_rows) add("r" + std::to_string(format.group_rows));
    if (format.scale_bits != so_far.scale_bits) add("s" + std::to_string(format.scale_bits));
    if (format.zero_bits == static_cast<int>(bits(format.element)) && format.zero_bits != so_far.zero_bits)
        add("zp");
    if (format.zero_bits != so_far.zero_bits) add("z" + std::to_string(format.zero_bits));
    if (format.weight_only != so_far.weight_only) add(format.weight_only ? "w" : "act");
    return text;
}

Formats uniform_formats(const StorageFormat& format) {
    Formats formats;
    formats.by_role.fill(format);
    return formats;
}

std::vector<std::string> storage_format_names() {
    std::vector<std::string> names;
    for (const Named& named : kNamed) names.emplace_back(named.name);
    return names;
}

}  // namespace headroom
