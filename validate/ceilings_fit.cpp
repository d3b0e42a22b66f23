// SPDX-License-Identifier: Apache-2.0
#include "validate/ceilings_fit.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headroom {
namespace {

void put(Ceilings& ceilings, const std::vector<std::string>& names, std::span<const double> values) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        find_ceiling(names[i])->set(ceilings, values[i]);
    }
}

/// Settings of the kernel, not quantities: a fit leaves them alone.
bool is_switch(const std::string& name) {
    return name == "decode.even" || name == "decode.ungrouped" || name == "prefill.packed" ||
           name == "mla.decode_heads" || name == "mla.decode_splits" || name == "collective.one_shot";
}

GroupFit fit_group(const std::string& group, const std::vector<KernelCase>& cases, Ceilings& ceilings,
                   unsigned seed, int most_rows) {
    GroupFit result;
    result.group = group;
    result.parameters = parameters_of(group);
    const std::vector<bool> train = random_half(static_cast<int>(cases.size()), seed);
    std::vector<bool> test = train;
    test.flip();
    std::vector<const KernelCase*> rows;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (train[i]) {
            rows.push_back(&cases[i]);
        }
    }
    // A stride keeps the tables' order of shapes represented.
    const auto stride = std::max<std::size_t>(1, rows.size() / static_cast<std::size_t>(most_rows));
    std::vector<const KernelCase*> used;
    for (std::size_t i = 0; i < rows.size(); i += stride) {
        used.push_back(rows[i]);
    }
    std::vector<FitParameter> parameters;
    for (const std::string& name : result.parameters) {
        const CeilingParameter* p = find_ceiling(name);
        parameters.push_back({name, p->get(ceilings), p->low, p->high});
    }
    const Ceilings start = ceilings;
    const Residuals residuals = [&](std::span<const double> values, std::span<double> out) {
        Ceilings now = start;
        put(now, result.parameters, values);
        for (std::size_t i = 0; i < used.size(); ++i) {
            out[i] = std::log(expected_time(used[i]->shape, now) / used[i]->measured);
        }
    };
    result.values = fit(parameters, static_cast<int>(used.size()), residuals);
    put(ceilings, result.parameters, result.values);
    result.train = summarise(errors_of(cases, train, ceilings));
    result.test = summarise(errors_of(cases, test, ceilings));
    for (const std::string& name : result.parameters) {
        Ceilings without = ceilings;
        const CeilingParameter* p = find_ceiling(name);
        p->set(without, p->get(start));
        result.importance.push_back(summarise(errors_of(cases, test, without)).mean_abs);
    }
    return result;
}

}  // namespace

std::vector<std::string> parameters_of(const std::string& group) {
    static const std::map<std::string, std::string> prefixes{{"products half", "product.half."},
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
                                                             {"collectives", "collective."}};
    std::vector<std::string> names;
    const auto at = prefixes.find(group);
    for (const CeilingParameter& p : ceiling_parameters()) {
        if (at != prefixes.end() && p.name.starts_with(at->second) && !is_switch(p.name)) {
            names.push_back(p.name);
        }
    }
    return names;
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

CeilingsFit fit_ceilings(const std::vector<KernelCase>& cases, const Ceilings& start, unsigned seed,
                         int most_rows) {
    CeilingsFit result{start, {}};
    result.ceilings.memory = memory_share(cases, start.peaks, start.memory);
    std::map<std::string, std::vector<KernelCase>> groups;
    for (const KernelCase& c : cases) {
        groups[c.group].push_back(c);
    }
    for (const auto& [group, members] : groups) {
        result.groups.push_back(fit_group(group, members, result.ceilings, seed, most_rows));
    }
    return result;
}

}  // namespace headroom
