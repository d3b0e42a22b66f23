// SPDX-License-Identifier: Apache-2.0
#include "validate/ceilings_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace headroom {
namespace {

void put(Ceilings& ceilings, const std::vector<std::string>& names, std::span<const double> values) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        find_ceiling(names[i])->set(ceilings, values[i]);
    }
}

/// Settings of the kernel and spreads are no quantities that a fit may move.
bool is_fixed(const std::string& name) {
    return name == "decode.even" || name == "decode.ungrouped" || name == "prefill.packed" ||
           name == "mla.decode_heads" || name == "mla.decode_splits" || name == "collective.one_shot" ||
           name.ends_with("spread");
}

/// The training rows, thinned by a stride so that the table's order of shapes stays represented.
std::vector<const KernelCase*> thinned(const std::vector<KernelCase>& cases, const std::vector<bool>& train,
                                       int most_rows) {
    std::vector<const KernelCase*> rows;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (train[i]) rows.push_back(&cases[i]);
    }
    const auto stride = std::max<std::size_t>(1, rows.size() / static_cast<std::size_t>(most_rows));
    std::vector<const KernelCase*> used;
    for (std::size_t i = 0; i < rows.size(); i += stride) used.push_back(rows[i]);
    return used;
}

double mean_error(const std::vector<const KernelCase*>& cases, const Ceilings& ceilings) {
    double sum = 0;
    for (const KernelCase* c : cases) sum += std::abs(expected_time(c->shape, ceilings) / c->measured - 1);
    return cases.empty() ? 0 : sum / static_cast<double>(cases.size());
}

/// The worse of the errors with one parameter 20 % off, within its bounds.
double error_when_off(const std::vector<const KernelCase*>& cases, const Ceilings& ceilings,
                      const CeilingParameter& p) {
    double worst = 0;
    for (const double factor : {0.8, 1.2}) {
        Ceilings moved = ceilings;
        p.set(moved, std::clamp(factor * p.get(ceilings), p.low, p.high));
        worst = std::max(worst, mean_error(cases, moved));
    }
    return worst;
}

/// A profile without the parameter starts in the middle of its bounds, as factors go.
double start_of(const CeilingParameter& p, const Ceilings& ceilings) {
    const double value = p.get(ceilings);
    if (value >= p.low && value <= p.high && value > 0) return value;
    return std::sqrt(std::max(p.low, p.high / 100) * p.high);
}

/// What the recording says, or else a random half.
std::vector<bool> training_rows(const std::vector<KernelCase>& cases, unsigned seed) {
    if (cases.front().suite.empty()) return random_half(static_cast<int>(cases.size()), seed);
    std::vector<bool> train;
    for (const KernelCase& c : cases) train.push_back(c.suite == "calibration");
    return train;
}

FittedGroup fit_group(const std::string& group, const std::vector<KernelCase>& cases, Ceilings& ceilings,
                      unsigned seed, int most_rows) {
    FittedGroup result;
    result.group = group;
    const std::vector<std::string> names = parameters_of(group);
    const std::vector<bool> train = training_rows(cases, seed);
    std::vector<bool> test = train;
    test.flip();
    const std::vector<const KernelCase*> used = thinned(cases, train, most_rows);
    std::vector<FitParameter> parameters;
    for (const std::string& name : names) {
        const CeilingParameter* p = find_ceiling(name);
        parameters.push_back({name, start_of(*p, ceilings), p->low, p->high});
    }
    const Ceilings start = ceilings;
    const Residuals residuals = [&](std::span<const double> values, std::span<double> out) {
        Ceilings now = start;
        put(now, names, values);
        for (std::size_t i = 0; i < used.size(); ++i) {
            out[i] = std::log(expected_time(used[i]->shape, now) / used[i]->measured);
        }
    };
    put(ceilings, names, fit(parameters, static_cast<int>(used.size()), residuals));
    result.train = summarise(errors_of(cases, train, ceilings));
    std::vector<const KernelCase*> unseen = thinned(cases, test, most_rows);
    if (unseen.empty()) unseen = used;  // a calibration has no rows to spare
    const double reached = mean_error(unseen, ceilings);
    for (const std::string& name : names) {
        const CeilingParameter* p = find_ceiling(name);
        const double off = error_when_off(unseen, ceilings, *p);
        if (off == reached) {  // no row depends on it
            p->set(ceilings, p->get(start));
            continue;
        }
        result.parameters.push_back(
            {name, std::string(p->unit), p->get(ceilings), p->get(start), off, std::string(p->meaning)});
    }
    result.test = summarise(errors_of(cases, test, ceilings));
    result.spread = spread_of(cases, train, ceilings);
    find_ceiling(spread_parameter(group))->set(ceilings, result.spread);
    return result;
}

std::map<std::string, std::vector<KernelCase>> by_group(const std::vector<KernelCase>& cases) {
    std::map<std::string, std::vector<KernelCase>> groups;
    for (const KernelCase& c : cases) groups[c.group].push_back(c);
    return groups;
}

/// The group that a group's behaviour on another device is taken from where it was not measured there.
std::string nearest_kin(const std::string& group) {
    if (group.starts_with("products")) return "products half";
    if (group.starts_with("experts")) return "experts half";
    if (group == "MLA decode") return "decode attention";
    return group == "MLA prefill" ? "prefill attention" : "";
}

/// Where the parameters of a group of cases start.
const std::map<std::string, std::string>& prefixes() {
    static const std::map<std::string, std::string> found{{"products half", "product.half."},
                                                          {"products fp8", "product.fp8."},
                                                          {"products fp8_block", "product.fp8_block."},
                                                          {"products weight_only", "product.weight_only."},
                                                          {"decode attention", "decode."},
                                                          {"prefill attention", "prefill."},
                                                          {"MLA decode", "mla.decode_"},
                                                          {"MLA prefill", "mla.prefill_"},
                                                          {"experts half", "experts.half."},
                                                          {"experts fp8", "experts.fp8."},
                                                          {"experts fp8_block", "experts.fp8_block."},
                                                          {"experts weight_only", "experts.weight_only."},
                                                          {"collectives", "collective."},
                                                          {"bundled read", "bundled.read."},
                                                          {"bundled write", "bundled.write."},
                                                          {"bundled copy", "bundled.copy."},
                                                          {"bundled decode", "bundled.decode."},
                                                          {"bundled flash", "bundled.flash."},
                                                          {"bundled weights", "bundled.stream."}};
    return found;
}

}  // namespace

std::vector<std::string> parameters_of(const std::string& group) {
    std::vector<std::string> names;
    const auto at = prefixes().find(group);
    if (at == prefixes().end()) return names;
    for (const CeilingParameter& p : ceiling_parameters()) {
        // The library's products stand in for the kernel where they are faster.
        const bool library = group == "bundled weights" &&
                             (p.name.starts_with("bundled.half.") || p.name.starts_with("bundled.fp8."));
        if ((p.name.starts_with(at->second) || library) && !is_fixed(p.name)) names.push_back(p.name);
    }
    return names;
}

std::string spread_parameter(const std::string& group) { return prefixes().at(group) + "spread"; }

double spread_of(const std::vector<KernelCase>& cases, const std::vector<bool>& take,
                 const Ceilings& ceilings) {
    std::vector<double> logs;
    for (const double error : errors_of(cases, take, ceilings)) logs.push_back(std::abs(std::log1p(error)));
    const CeilingParameter* p = find_ceiling("decode.spread");
    return std::clamp(std::exp(quantile_of(logs, 0.9)), p->low, p->high);
}

std::vector<double> errors_of(const std::vector<KernelCase>& cases, const std::vector<bool>& take,
                              const Ceilings& ceilings) {
    std::vector<double> errors;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (take.empty() || take[i]) {
            errors.push_back(expected_time(cases[i].shape, ceilings) / cases[i].measured - 1);
        }
    }
    return errors;
}

double memory_share(const std::vector<KernelCase>& cases, const Peaks& peaks, double otherwise) {
    std::vector<double> shares;
    for (const KernelCase& c : cases) {
        Bytes bytes;
        if (const auto* decode = std::get_if<DecodeCase>(&c.shape)) {
            const AttentionShape& s = decode->shape;
            bytes = s.sequences * s.kv_heads * s.context * (s.qk_dim + s.v_dim) * s.cache_element * byte;
        } else if (const auto* s = std::get_if<ProductShape>(&c.shape); s != nullptr && s->m <= 64) {
            bytes = s->n * s->k * s->weight_element * byte;
        }
        if (bytes > 8 * peaks.l2) {
            shares.push_back(bytes / c.measured / peaks.memory);
        }
    }
    if (shares.size() < 20) {
        return otherwise;
    }
    std::sort(shares.begin(), shares.end());
    const double best = shares[shares.size() * 95 / 100];
    return std::clamp(best, find_ceiling("memory")->low, find_ceiling("memory")->high);
}

bool share_kernel(const std::vector<KernelCase>& a, const std::vector<KernelCase>& b) {
    std::set<std::string> kernels;
    for (const KernelCase& c : a) kernels.insert(c.kernel);
    return std::any_of(b.begin(), b.end(), [&](const KernelCase& c) { return kernels.count(c.kernel) > 0; });
}

Ceilings moved_to(const Ceilings& fitted, const Ceilings& there) {
    Ceilings moved = fitted;
    moved.peaks = there.peaks;
    for (const CeilingParameter& p : ceiling_parameters()) {
        const double value = p.get(fitted);
        p.set(moved, p.carries == Carries::kernel_choice ? p.get(there)
                                                         : carried(p, value, fitted.peaks, there.peaks));
    }
    return moved;
}

CeilingsFit fit_ceilings(const std::vector<KernelCase>& cases, const Ceilings& start, unsigned seed,
                         int most_rows) {
    CeilingsFit result{start, {}};
    result.ceilings.memory = memory_share(cases, start.peaks, start.memory);
    for (const auto& [group, members] : by_group(cases)) {
        result.groups.push_back(fit_group(group, members, result.ceilings, seed, most_rows));
    }
    return result;
}

void cross(CeilingsFit& fit, const std::vector<KernelCase>& cases, const std::vector<KernelCase>& other,
           const Ceilings& there) {
    const auto own = by_group(cases);
    const auto groups = by_group(other);
    const Ceilings moved = moved_to(fit.ceilings, there);
    std::map<std::string, double> widening;
    for (FittedGroup& g : fit.groups) {
        const auto at = groups.find(g.group);
        if (at == groups.end() || !share_kernel(own.at(g.group), at->second)) continue;
        g.other = summarise(errors_of(at->second, {}, moved));
        g.other_spread = std::max(g.spread, spread_of(at->second, {}, moved));
        widening[g.group] = g.other_spread / g.spread;
    }
    for (FittedGroup& g : fit.groups) {
        if (g.other.rows > 0) continue;
        const auto kin = widening.find(nearest_kin(g.group));
        g.other_spread = g.spread * (kin == widening.end() ? 1 : kin->second);
    }
}

}  // namespace headroom
