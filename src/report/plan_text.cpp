// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "report/emit.h"
#include "report/plan.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr std::size_t kRows = 24;  // of candidates; JSON and CSV have all

std::string load_text(const Load& l) {
    return fmt::format(
        "load {} requests/s, {} tokens in and {} out on average, {} tokens held by a live sequence\n",
        format_number(l.rate.base(), 4), format_number(l.input, 4), format_number(l.output, 4),
        format_number(l.context, 4));
}

std::string objectives_text(const Objectives& o) {
    std::string text;
    const std::string p = "p" + format_number(100 * o.percentile, 4);
    const auto add = [&](const char* what, const std::optional<Seconds>& wanted) {
        if (wanted)
            text += fmt::format("{} {} {} <= {}", text.empty() ? "" : ",", p, what, format(*wanted, 3));
    };
    add("TTFT", o.ttft);
    add("ITL", o.itl);
    add("TPOT", o.tpot);
    add("end to end", o.e2e);
    if (text.empty()) text = " none but staying below saturation";
    text = fmt::format("objectives:{}; replicas loaded to at most {} of what they sustain", text,
                       percent(o.margin));
    if (o.spare > 0) text += fmt::format("; {} more in each pool may fail", o.spare);
    return text + "\n";
}

std::string plural(std::int64_t n, const char* what) {
    return fmt::format("{} {}{}", format_count(static_cast<double>(n)), what, n == 1 ? "" : "s");
}

std::string group_text(const PlanAnswer& a, const Group& g, const char* what) {
    const Deployment& d = g.deployment;
    std::string text = fmt::format("{} of tp {} pp {}", plural(g.replicas, what), d.tp, d.pp);
    if (d.ep > 1 || d.dp > 1) text += fmt::format(" ep {} dp {}", d.ep, d.dp);
    if (d.cp > 1) text += fmt::format(" cp {}", d.cp);
    if (a.asked.offers.size() > 1) text += " on " + a.asked.offers[g.offer].hardware.name;
    return text;
}

std::string precision_text(const PlanAnswer& a, const Candidate& c) {
    if (a.asked.variants.size() < 2) return "";
    return fmt::format(", weights {}, KV {}", a.asked.variants[c.variant].weights,
                       a.asked.variants[c.variant].kv);
}

std::string chosen(const PlanAnswer& a, const Candidate& c) {
    const std::string groups = c.prefill ? group_text(a, *c.prefill, "prefill replica") + " and " +
                                               group_text(a, c.decode, "decode replica")
                                         : group_text(a, c.decode, "replica");
    return fmt::format("{}, {}{}", plural(c.gpus, "GPU"), groups, precision_text(a, c));
}

std::int64_t own_budget(const PlanAnswer& a) {
    return static_cast<std::int64_t>(a.asked.question.engine.scheduler.max_batched_tokens.value);
}

// Where a step's tokens were searched, the table says which were chosen.
bool shows_budget(const PlanAnswer& a) {
    return std::any_of(a.plan.candidates.begin(), a.plan.candidates.end(), [&](const Candidate& c) {
        return c.decode.budget != own_budget(a) || (c.prefill && c.prefill->budget != own_budget(a));
    });
}

std::string search_text(const SearchCounts& s) {
    std::string text =
        fmt::format("candidates: {} considered, {} do not fit, {} ruled out by the floor of a step",
                    s.considered, s.unfit, s.pruned);
    if (s.pairs > 0) text += fmt::format(", {} pairs of pools", s.pairs);
    if (s.simulated > 0) text += fmt::format(", {} simulated", s.simulated);
    return text + "; the latencies below are estimates\n";
}

std::string best_text(const PlanAnswer& a, const Candidate& c) {
    const SteadyState& s = c.decode.state;
    std::string text = fmt::format("answer: {}; {} binds\n", chosen(a, c), to_string(s.binding));
    text += fmt::format(
        "  each replica decodes {} sequences at once (of {} that it can) at {} of its sustainable {} "
        "requests/s\n",
        format_number(s.batch, 3), format_number(s.batch_limit, 4), percent(s.utilisation),
        format_number(c.decode.sustainable.base(), 4));
    if (c.prefill)
        text += fmt::format("  each prefill replica is busy {} of the time\n",
                            percent(c.prefill->state.utilisation));
    text += fmt::format("  {} output tokens/s per GPU", format_number(tokens_per_gpu(a.load, c), 4));
    if (const auto usd = usd_per_million_tokens(a.load, c))
        text += fmt::format(", {} USD per million output tokens", format_number(*usd, 3));
    text += fmt::format("; the load may grow by {} before it saturates\n", percent(1 / c.utilisation - 1));
    if (a.plan.verification) {
        const Verification& v = *a.plan.verification;
        const std::string p = "p" + format_number(100 * a.asked.objectives.percentile, 4);
        text += fmt::format(
            "  simulated request by request: TTFT {} {}, ITL {} {}, TPOT {} {}, end to end {} {}\n", p,
            format(v.ttft, 3), p, format(v.itl, 3), p, format(v.tpot, 3), p, format(v.e2e, 3));
    }
    if (!c.prefill && c.decode.budget != own_budget(a))
        text += fmt::format("  steps of at most {} tokens ({} are usual) keep the gaps short\n",
                            format_count(static_cast<double>(c.decode.budget)),
                            format_count(static_cast<double>(own_budget(a))));
    if (!a.plan.note.empty()) text += "  note: " + a.plan.note + "\n";
    if (a.beyond_context > 0) text += "  note: " + beyond_context_text(a) + "\n";
    if (a.peak)
        text += fmt::format("  the busiest {} bring {} requests/s: {} at the same margin\n",
                            format(a.peak->window, 3), format_number(a.peak->rate.base(), 4),
                            plural(a.peak->gpus, "GPU"));
    return text;
}

// Pools were tried beside replicas that do both: which is better, and why.
std::string pools_text(const PlanAnswer& a) {
    if (!a.asked.pools || !a.asked.together || !a.plan.best) return "";
    const Candidate *together = nullptr, *pools = nullptr;
    for (const Candidate& c : a.plan.candidates) {
        if (!c.meets) continue;
        const Candidate*& first = c.prefill ? pools : together;
        if (first == nullptr) first = &c;
    }
    if (together == nullptr && pools == nullptr) return "";
    if (together == nullptr)
        return fmt::format(
            "only pools meet the objectives: a prompt beside decoding sequences makes their gaps too "
            "long\n\n");
    if (pools == nullptr) return "only replicas that do both meet the objectives\n\n";
    if (pools->gpus < together->gpus)
        return fmt::format(
            "pools need {} GPUs, replicas that do both {}: without prompts beside them, decode replicas can "
            "hold "
            "larger batches within the objective ({} against {} sequences)\n\n",
            pools->gpus, together->gpus, format_number(pools->decode.state.batch, 3),
            format_number(together->decode.state.batch, 3));
    if (pools->gpus == together->gpus)
        return fmt::format("pools and replicas that do both need as many GPUs: {}\n\n", pools->gpus);
    return fmt::format(
        "one machine for both is better: {}, pools need {}; prompts fill the compute that decoding "
        "leaves idle, "
        "and two pools are each rounded up to whole replicas\n\n",
        plural(together->gpus, "GPU"), pools->gpus);
}

std::vector<std::string> cells(const PlanAnswer& a, const Candidate& c) {
    const Deployment& d = c.decode.deployment;
    std::vector<std::string> row;
    if (a.asked.offers.size() > 1) row.push_back(a.asked.offers[c.decode.offer].hardware.name);
    if (a.asked.variants.size() > 1)
        row.push_back(a.asked.variants[c.variant].weights + "/" + a.asked.variants[c.variant].kv);
    for (const int degree : {d.tp, d.pp, d.ep, d.dp}) row.push_back(std::to_string(degree));
    if (shows_budget(a)) row.push_back(format_count(static_cast<double>(c.decode.budget)));
    if (!c.fits || c.pruned || c.decode.state.saturated) {
        const std::string why = c.fits && !c.pruned ? "saturated" : c.why_not;
        row.insert(row.end(), {"-", "-", "-", "-", "-", "-", "-", why});
        return row;
    }
    std::string replicas = format_count(static_cast<double>(c.decode.replicas));
    if (c.prefill) {
        const Deployment& p = c.prefill->deployment;
        std::string degrees = fmt::format("tp {}", p.tp);
        if (p.pp > 1) degrees += fmt::format(" pp {}", p.pp);
        if (p.ep > 1) degrees += fmt::format(" ep {}", p.ep);
        if (p.dp > 1) degrees += fmt::format(" dp {}", p.dp);
        replicas = fmt::format("{} x {} + {}", c.prefill->replicas, degrees, replicas);
    }
    row.insert(row.end(),
               {replicas, format_count(static_cast<double>(c.gpus)), format_number(c.decode.state.batch, 3),
                percent(c.utilisation, 2), format(c.ttft_tail, 3), format(c.itl_tail, 3),
                to_string(c.decode.state.binding), c.why_not});
    return row;
}

std::string candidates_text(const PlanAnswer& a) {
    const std::string p = "p" + format_number(100 * a.asked.objectives.percentile, 4);
    std::vector<std::string> header;
    if (a.asked.offers.size() > 1) header.push_back("device");
    if (a.asked.variants.size() > 1) header.push_back("weights/KV");
    for (const char* h : {"tp", "pp", "ep", "dp"}) header.push_back(h);
    if (shows_budget(a)) header.push_back("tokens/step");
    for (const char* h : {"replicas", "GPUs", "batch", "load"}) header.push_back(h);
    header.insert(header.end(), {"TTFT " + p, "ITL " + p, "binds", ""});
    Table table(header);
    for (std::size_t i = 0; i < std::min(kRows, a.plan.candidates.size()); ++i)
        table.add(cells(a, a.plan.candidates[i]));
    std::string text = table.to_string();
    if (a.plan.candidates.size() > kRows)
        text += fmt::format("  and {} more\n", a.plan.candidates.size() - kRows);
    return text;
}

std::string frontier_text(const PlanAnswer& a) {
    if (a.plan.frontier.empty()) return "";
    const std::string p = "p" + format_number(100 * a.asked.objectives.percentile, 4);
    const bool budgets = std::any_of(a.plan.frontier.begin(), a.plan.frontier.end(),
                                     [&](const FrontierPoint& f) { return f.group.budget != own_budget(a); });
    std::vector<std::string> header{"tokens/s per GPU", "ITL " + p, "TTFT " + p, "tp", "pp", "ep", "dp"};
    if (budgets) header.push_back("tokens/step");
    header.push_back("load");
    Table table(header);
    for (const FrontierPoint& f : a.plan.frontier) {
        const Deployment& d = f.group.deployment;
        std::vector<std::string> row{format_number(f.tokens_per_s_per_gpu, 4), format(f.itl_tail, 3),
                                     format(f.ttft_tail, 3)};
        for (const int degree : {d.tp, d.pp, d.ep, d.dp}) row.push_back(std::to_string(degree));
        if (budgets) row.push_back(format_count(static_cast<double>(f.group.budget)));
        row.push_back(percent(f.utilisation, 2));
        table.add(row);
    }
    return "\nthroughput against latency: nothing is better in both\n" + table.to_string();
}

std::string growth_text(const PlanAnswer& a) {
    if (a.growth.empty()) return "";
    std::string text = "\nas the load grows\n";
    const auto line = [&](const Load& load, const Plan& p) {
        text +=
            fmt::format("  {} requests/s: {}\n", format_number(load.rate.base(), 4),
                        p.best ? chosen(a, p.candidates[*p.best]) : to_string(p.verdict) + "; " + p.reason);
    };
    line(a.load, a.plan);
    for (const auto& [load, p] : a.growth) line(load, p);
    return text;
}

}  // namespace

std::string plan_text(const PlanAnswer& a, const std::string& emit) {
    const Question& q = a.asked.question;
    std::string devices;
    for (const Offer& offer : a.asked.offers) devices += (devices.empty() ? "" : ", ") + offer.hardware.name;
    std::string text = fmt::format("{} on {}, weights {}, KV {}, engine {}\n", q.model.name, devices,
                                   q.echo.weights, q.echo.kv, q.engine.name);
    text += load_text(a.load) + objectives_text(a.asked.objectives) + "\n";
    if (a.plan.best) {
        text += best_text(a, a.plan.candidates[*a.plan.best]) + "\n";
    } else {
        text += fmt::format("answer: {}; {}\n\n", to_string(a.plan.verdict), a.plan.reason);
    }
    if (!emit.empty()) text += emit_commands(a, emit) + "\n";
    text +=
        pools_text(a) + search_text(a.plan.counts) + candidates_text(a) + growth_text(a) + frontier_text(a);
    if (a.plan.relief.empty()) return text;
    text += "\nwhat relieving each resource alone would do to the sustainable rate\n";
    Table relief({"resource", "change", "rate"});
    for (const Relief& r : a.plan.relief)
        relief.add({r.resource, r.change, format_number(r.throughput_gain, 3) + "x"});
    return text + relief.to_string();
}

}  // namespace headroom
