// SPDX-License-Identifier: Apache-2.0
#include "spec/routing.h"

#include <charconv>

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr std::string_view kPowerLaw = "power-law:";

}  // namespace

std::optional<Routing> routing_of(std::string_view text) {
    if (text == "uniform") return Routing{};
    if (text == "balanced") return Routing{RoutingKind::balanced, 0};
    if (text.substr(0, kPowerLaw.size()) != kPowerLaw) return std::nullopt;
    const std::string_view number = text.substr(kPowerLaw.size());
    double exponent = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), exponent);
    if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
    if (!(exponent >= 0 && exponent <= kLargestRoutingExponent)) return std::nullopt;
    return Routing{RoutingKind::power_law, exponent};
}

std::string to_string(const Routing& routing) {
    switch (routing.kind) {
        case RoutingKind::uniform:
            return "uniform";
        case RoutingKind::balanced:
            return "balanced";
        case RoutingKind::power_law:
            return fmt::format("{}{}", kPowerLaw, routing.exponent);
    }
    return "";
}

}  // namespace headroom
