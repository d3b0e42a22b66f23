// SPDX-License-Identifier: Apache-2.0
#include "report/plan.h"

#include "base/units.h"

#include <fmt/core.h>

namespace headroom {
namespace {

// "ttft_p99_s": the key names the percentile that was asked for.
std::string tail_key(const char* what, double percentile) {
    return fmt::format("{}_p{}_s", what, format_number(100 * percentile, 4));
}

double tokens_per_gpu(const PlanAnswer& a, const Candidate& c) {
    return a.load.rate.base() * a.load.output / static_cast<double>(c.gpus);
}

// Idle GPUs are paid for: the whole fleet's price over what it serves.
std::optional<double> usd_per_million_tokens(const PlanAnswer& a, const Candidate& c) {
    if (!a.price) return std::nullopt;
    return a.price->base() / tokens_per_gpu(a, c) * 1e6;
}

Json candidate_json(const PlanAnswer& a, const Candidate& c) {
    const Deployment& d = c.deployment;
    Json j = {{"gpus", c.gpus},
              {"replicas", c.replicas},
              {"tp", d.tp},
              {"pp", d.pp},
              {"ep", d.ep},
              {"dp", d.dp},
              {"mode", "co-located"},
              {"weights", a.question.echo.weights},
              {"kv", a.question.echo.kv},
              {"fits", c.fits},
              {"meets", c.meets}};
    if (!c.why_not.empty()) j["why_not"] = c.why_not;
    if (!c.fits) {
        j["needs_bytes"] = c.needs.in(byte);
        return j;
    }
    j["sustainable_per_s"] = c.sustainable.base();
    j["binding"] = to_string(c.state.binding);
    if (c.state.saturated) return j;  // no latency is told for an overloaded system
    const double p = a.objectives.percentile;
    j["batch"] = c.state.batch;
    j["batch_limit"] = c.state.batch_limit;
    j["utilisation"] = c.state.utilisation;
    j["ttft_mean_s"] = c.state.ttft_mean.in(second);
    j[tail_key("ttft", p)] = c.state.ttft_tail.in(second);
    j["itl_mean_s"] = c.state.itl_mean.in(second);
    j[tail_key("itl", p)] = c.state.itl_tail.in(second);
    j["tokens_per_s_per_gpu"] = tokens_per_gpu(a, c);
    if (const auto usd = usd_per_million_tokens(a, c)) j["usd_per_mtok"] = *usd;
    return j;
}

std::string load_text(const PlanAnswer& a) {
    return fmt::format(
        "load {} requests/s, {} tokens in and {} out on average, {} tokens held by a live sequence\n",
        format_number(a.load.rate.base(), 4), format_number(a.load.input, 4), format_number(a.load.output, 4),
        format_number(a.load.context, 4));
}

std::string objectives_text(const Objectives& o) {
    std::string text;
    const std::string p = "p" + format_number(100 * o.percentile, 4);
    if (o.ttft) text += fmt::format("{} TTFT {} <= {}", text.empty() ? "" : ",", p, format(*o.ttft, 3));
    if (o.itl) text += fmt::format("{} ITL {} <= {}", text.empty() ? "" : ",", p, format(*o.itl, 3));
    if (text.empty()) text = " none but staying below saturation";
    return fmt::format("objectives:{}; replicas loaded to at most {} of what they sustain\n", text,
                       percent(o.margin));
}

std::string best_text(const PlanAnswer& a, const Candidate& c) {
    std::string text =
        fmt::format("answer: {} {}, {} {} of tp {} pp {}", c.gpus, c.gpus == 1 ? "GPU" : "GPUs", c.replicas,
                    c.replicas == 1 ? "replica" : "replicas", c.deployment.tp, c.deployment.pp);
    if (c.deployment.ep > 1 || c.deployment.dp > 1)
        text += fmt::format(" ep {} dp {}", c.deployment.ep, c.deployment.dp);
    text += fmt::format("; {} binds\n", to_string(c.state.binding));
    text += fmt::format(
        "  each replica decodes {} sequences at once (of {} that it can) at {} of its sustainable {} "
        "requests/s\n",
        format_number(c.state.batch, 3), format_number(c.state.batch_limit, 4), percent(c.state.utilisation),
        format_number(c.sustainable.base(), 4));
    text += fmt::format("  {} output tokens/s per GPU", format_number(tokens_per_gpu(a, c), 4));
    if (const auto usd = usd_per_million_tokens(a, c))
        text += fmt::format(", {} USD per million output tokens", format_number(*usd, 3));
    return text + "\n";
}

std::string text_of(const PlanAnswer& a) {
    std::string text = fmt::format("{} on {}, weights {}, KV {}, engine {}\n", a.question.model.name,
                                   a.question.hardware.name, a.question.echo.weights, a.question.echo.kv,
                                   a.question.engine.name);
    text += load_text(a) + objectives_text(a.objectives) + "\n";
    if (a.plan.best) {
        text += best_text(a, a.plan.candidates[*a.plan.best]) + "\n";
    } else {
        text += fmt::format("answer: {}; {}\n\n", to_string(a.plan.verdict), a.plan.reason);
    }
    const std::string p = "p" + format_number(100 * a.objectives.percentile, 4);
    Table table(
        {"tp", "pp", "ep", "dp", "replicas", "GPUs", "batch", "load", "TTFT " + p, "ITL " + p, "binds", ""});
    for (const Candidate& c : a.plan.candidates) {
        const Deployment& d = c.deployment;
        std::vector<std::string> row;
        for (const int degree : {d.tp, d.pp, d.ep, d.dp}) row.push_back(std::to_string(degree));
        if (!c.fits || c.state.saturated) {
            row.insert(row.end(), {"-", "-", "-", "-", "-", "-", "-", c.fits ? "saturated" : c.why_not});
        } else {
            row.insert(row.end(), {format_count(static_cast<double>(c.replicas)),
                                   format_count(static_cast<double>(c.gpus)), format_number(c.state.batch, 3),
                                   percent(c.state.utilisation, 2), format(c.state.ttft_tail, 3),
                                   format(c.state.itl_tail, 3), to_string(c.state.binding), c.why_not});
        }
        table.add(std::move(row));
    }
    text += table.to_string();
    if (a.plan.relief.empty()) return text;
    text += "\nwhat relieving each resource alone would do to the sustainable rate\n";
    Table relief({"resource", "change", "rate"});
    for (const Relief& r : a.plan.relief)
        relief.add({r.resource, r.change, format_number(r.throughput_gain, 3) + "x"});
    return text + relief.to_string();
}

}  // namespace

Report report(const PlanAnswer& a) {
    Report r;
    r.json = envelope("plan", a.question);
    for (const char* searched : {"tp", "pp", "ep", "dp"}) r.json["inputs"].erase(searched);
    r.json["inputs"]["rate_per_s"] = a.load.rate.base();
    r.json["inputs"]["percentile"] = a.objectives.percentile;
    r.json["inputs"]["margin"] = a.objectives.margin;
    if (a.objectives.ttft) r.json["inputs"]["ttft_s"] = a.objectives.ttft->in(second);
    if (a.objectives.itl) r.json["inputs"]["itl_s"] = a.objectives.itl->in(second);
    if (a.price) r.json["inputs"]["price_usd_per_s"] = a.price->base();
    r.json["method"] = "steady state (Little's law with the step time); latencies are analytic estimates";
    r.json["verdict"] = to_string(a.plan.verdict);
    r.json["binding"] = nullptr;
    r.json["best"] = nullptr;
    if (a.plan.best) {
        const Candidate& best = a.plan.candidates[*a.plan.best];
        r.json["binding"] = to_string(best.state.binding);
        r.json["best"] = candidate_json(a, best);
    } else {
        r.json["reason"] = a.plan.reason;
    }
    r.json["candidates"] = Json::array();
    for (const Candidate& c : a.plan.candidates) r.json["candidates"].push_back(candidate_json(a, c));
    r.json["relief"] = Json::array();
    for (const Relief& x : a.plan.relief) {
        r.json["relief"].push_back(
            {{"resource", x.resource}, {"change", x.change}, {"throughput_gain", x.throughput_gain}});
    }
    r.rows = "candidates";
    r.text = text_of(a);
    return r;
}

}  // namespace headroom
