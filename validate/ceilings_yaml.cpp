// SPDX-License-Identifier: Apache-2.0
#include "validate/ceilings_yaml.h"

#include "validate/ceilings_fit.h"

#include <map>

#include <fmt/format.h>

namespace headroom {
namespace {

struct Value {
    double base = 0;
    std::string source;
};

/// "product.fp8.launch" gives "product.half.launch"; "" for what has no 16-bit kin.
std::string kin_of(const std::string& name) {
    for (const std::string group : {"product.", "experts."}) {
        if (!name.starts_with(group)) continue;
        const std::string kin = group + "half" + name.substr(name.find('.', group.size()));
        return kin != name && find_ceiling(kin) != nullptr ? kin : "";
    }
    return "";
}

bool measured(const std::vector<FittedGroup>& groups, const std::string& name) {
    for (const FittedGroup& g : groups) {
        if (spread_parameter(g.group) == name) return true;
        for (const FittedParameter& p : g.parameters) {
            if (p.name == name) return true;
        }
    }
    return name == "memory";
}

bool group_measured(const std::vector<FittedGroup>& groups, const std::string& name) {
    const std::string prefix = name.substr(0, name.rfind('.') + 1);
    for (const FittedGroup& g : groups) {
        if (spread_parameter(g.group).starts_with(prefix)) return true;
    }
    return false;
}

std::map<std::string, Value> values_of(const Hardware& profile, const Ceilings& fitted,
                                       const std::vector<FittedGroup>& groups) {
    std::map<std::string, Value> values;
    for (const CeilingParameter& p : ceiling_parameters()) {
        const std::string kin = kin_of(p.name);
        if (measured(groups, p.name)) {
            values[p.name] = {p.get(fitted), "kernel-fits"};
        } else if (!kin.empty() && !group_measured(groups, p.name)) {
            values[p.name] = {find_ceiling(kin)->get(fitted), "kin"};
        } else if (const auto own = profile.ceilings.values.find(p.name);
                   own != profile.ceilings.values.end()) {
            values[p.name] = {own->second.value, own->second.source};
        } else if (const auto kernel = profile.generation.kernels.values.find(p.name);
                   kernel != profile.generation.kernels.values.end()) {
            values[p.name] = {kernel->second.value, kernel->second.source};
        }
    }
    return values;
}

std::string part(const char* key, const std::map<std::string, Value>& values) {
    std::string text = fmt::format("{}:\n", key);
    for (const CeilingParameter& p : ceiling_parameters()) {
        const auto at = values.find(p.name);
        if (at == values.end()) continue;
        text += fmt::format("  {}: {{value: {}, source: {}}}\n", p.name, in_unit(at->second.base, p.unit),
                            at->second.source);
    }
    return text;
}

}  // namespace

std::string in_unit(double base, std::string_view unit) {
    const double scale = unit == "us" ? 1e-6 : unit == "GB/s" ? 1e9 : unit == "TB/s" ? 1e12 : 1;
    const double value = base / scale < 1e-6 ? 0 : base / scale;  // what is too small to matter is nothing
    return fmt::format("{:.4g}{}{}", value, unit.empty() ? "" : " ", unit);
}

std::string ceilings_yaml(const Hardware& profile, const Ceilings& fitted,
                          const std::vector<FittedGroup>& groups) {
    std::map<std::string, Value> values = values_of(profile, fitted, groups);
    std::string text = part("ceilings", values);
    for (const FittedGroup& g : groups) {
        if (g.other_spread <= g.spread) continue;
        const std::string name = spread_parameter(g.group);
        values[name] = {g.other_spread, "crossed"};
        for (auto& [other, value] : values) {  // kin of it widen alike
            if (value.source == "kin" && kin_of(other) == name) value.base = g.other_spread;
        }
    }
    return text + part("kernels", values);
}

}  // namespace headroom
