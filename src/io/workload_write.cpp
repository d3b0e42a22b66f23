// SPDX-License-Identifier: Apache-2.0
#include "base/overload.h"
#include "io/workload_yaml.h"
#include "spec/source_kinds.h"

#include <fmt/core.h>

namespace headroom {
namespace {

std::string number(double value) { return format_number(value, 6); }

std::string of(const PlainLength& length) {
    return std::visit(
        Overload{
            [](const FixedLength& l) { return fmt::format("kind: fixed, tokens: {}", l.tokens); },
            [](const LogNormalLength& l) {
                return fmt::format("kind: log-normal, p50: {}, p99: {}, least: {}, most: {}", number(l.p50),
                                   number(l.p99), l.least, l.most);
            },
            [](const QuantileLength& l) {
                std::string at;
                for (const auto& [share, tokens] : l.points) {
                    at += fmt::format("{}{}: {}", at.empty() ? "" : ", ", number(share), number(tokens));
                }
                return "kind: quantiles, at: {" + at + "}";
            },
        },
        length);
}

std::string of(const Length& length) {
    return std::visit(Overload{
                          [](const MixtureLength& l) {
                              std::string parts;
                              for (const auto& [weight, part] : l.parts) {
                                  parts += fmt::format("{}{{weight: {}, {}}}", parts.empty() ? "" : ", ",
                                                       number(weight), of(part));
                              }
                              return "kind: mixture, parts: [" + parts + "]";
                          },
                          [](const auto& plain) { return of(PlainLength(plain)); },
                      },
                      length);
}

std::string rate(Frequency r) { return number(r.base()) + " /s"; }
std::string time(Seconds t) { return number(t.base()) + " s"; }

std::string of(const Arrivals& arrivals) {
    return std::visit(
        Overload{
            [](const PoissonArrivals& a) { return "process: poisson, rate: " + rate(a.rate); },
            [](const GammaArrivals& a) {
                return fmt::format("process: gamma, rate: {}, cv: {}", rate(a.rate), number(a.cv));
            },
            [](const BurstArrivals& a) {
                return fmt::format("process: bursts, on_rate: {}, off_rate: {}, mean_on: {}, mean_off: {}",
                                   rate(a.on_rate), rate(a.off_rate), time(a.mean_on), time(a.mean_off));
            },
            [](const CurveArrivals& a) {
                std::string at;
                for (const auto& [when, r] : a.points) {
                    at += fmt::format("{}{}: {}", at.empty() ? "" : ", ", time(when), rate(r));
                }
                return fmt::format("process: curve, period: {}, at: {{{}}}", time(a.period), at);
            },
        },
        arrivals);
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) out += (c == '"' || c == '\\') ? std::string("\\") + c : std::string(1, c);
    return out + "\"";
}

}  // namespace

std::string to_yaml(const Workload& w) {
    std::string text = fmt::format("schema: headroom.workload/1\nname: {}\ntitle: {}\nsources:\n",
                                   quoted(w.name), quoted(w.title));
    for (const Source& s : w.sources) {
        text += fmt::format("  {}:\n    kind: {}\n    title: {}\n", s.id, to_string(s.kind), quoted(s.title));
        if (!s.where.empty()) text += fmt::format("    where: {}\n", quoted(s.where));
        if (!s.date.empty()) text += fmt::format("    date: {}\n", quoted(s.date));
    }
    const std::string source = w.sources.empty() ? "" : w.sources.front().id;
    text += fmt::format("arrivals: {{{}, source: {}}}\n", of(w.arrivals), source);
    text += fmt::format("input: {{{}, source: {}}}\n", of(w.input), source);
    text += fmt::format("output: {{{}, source: {}}}\n", of(w.output), source);
    const auto* fixed = std::get_if<FixedLength>(&w.system.tokens);
    if (fixed == nullptr || fixed->tokens > 0) {
        text += fmt::format("system: {{prompts: {}, skew: {}, tokens: {{{}}}, source: {}}}\n",
                            w.system.prompts, number(w.system.skew), of(w.system.tokens), source);
    }
    if (w.turns.mean > 1) {
        text += fmt::format("turns: {{mean: {}, gap: {}, max_context: {}, source: {}}}\n",
                            number(w.turns.mean), time(w.turns.gap), w.turns.max_context, source);
    }
    if (shares_prefixes(w)) text += fmt::format("prefix_block: {}\n", w.prefix_block);
    if (w.samples > 1) text += fmt::format("{}: {}\n", w.beam ? "beams" : "samples", w.samples);
    return text + fmt::format("requests: {}\nseed: {}\n", w.requests, w.seed);
}

}  // namespace headroom
