// SPDX-License-Identifier: Apache-2.0
#include "report/plan.h"

#include "base/units.h"
#include "report/emit.h"

#include <fmt/core.h>

namespace headroom {
namespace {

// "ttft_p99_s": the key names the percentile that was asked for.
std::string tail_key(const char* what, double percentile) {
    return fmt::format("{}_p{}_s", what, format_number(100 * percentile, 4));
}

void put_group(Json& j, const Group& g, const std::string& prefix) {
    const Deployment& d = g.deployment;
    j[prefix + "replicas"] = g.replicas;
    j[prefix + "tp"] = d.tp;
    j[prefix + "pp"] = d.pp;
    j[prefix + "ep"] = d.ep;
    j[prefix + "dp"] = d.dp;
    j[prefix + "cp"] = d.cp;
    j[prefix + "max_batched_tokens"] = g.budget;
}

Json candidate_json(const PlanAnswer& a, const Load& load, const Candidate& c) {
    Json j = {{"gpus", c.gpus}};
    put_group(j, c.decode, "");
    j["mode"] = mode_of(c);
    j["hw"] = a.asked.offers[c.decode.offer].hardware.name;
    j["weights"] = a.asked.variants[c.variant].weights;
    j["kv"] = a.asked.variants[c.variant].kv;
    if (c.prefill) {
        put_group(j, *c.prefill, "prefill_");
        j["prefill_hw"] = a.asked.offers[c.prefill->offer].hardware.name;
        const int spare = a.asked.objectives.spare;
        j["prefill_gpus"] = (c.prefill->replicas + spare) * gpus(c.prefill->deployment);
        j["decode_gpus"] = (c.decode.replicas + spare) * gpus(c.decode.deployment);
    }
    j["fits"] = c.fits;
    j["meets"] = c.meets;
    if (!c.why_not.empty()) j["why_not"] = c.why_not;
    if (!c.fits) j["needs_bytes"] = c.needs.in(byte);
    if (c.pruned) j["pruned"] = true;
    if (!c.fits || c.pruned) return j;
    j["sustainable_per_s"] = c.decode.sustainable.base();
    j["binding"] = to_string(c.decode.state.binding);
    if (c.decode.state.saturated) return j;  // no latency is told for an overloaded system
    const double p = a.asked.objectives.percentile;
    j["batch"] = c.decode.state.batch;
    j["batch_limit"] = c.decode.state.batch_limit;
    j["utilisation"] = c.utilisation;
    j["idle_share"] = 1 - c.utilisation;
    j["ttft_mean_s"] = c.ttft_mean.in(second);
    j[tail_key("ttft", p)] = c.ttft_tail.in(second);
    j["itl_mean_s"] = c.itl_mean.in(second);
    j[tail_key("itl", p)] = c.itl_tail.in(second);
    j[tail_key("tpot", p)] = c.tpot_tail.in(second);
    j[tail_key("e2e", p)] = c.e2e_tail.in(second);
    j["tokens_per_s_per_gpu"] = tokens_per_gpu(load, c);
    if (const auto usd = usd_per_million_tokens(load, c)) j["usd_per_mtok"] = *usd;
    if (c.cost) j["usd_per_s"] = c.cost->base();
    if (c.power) j["power_w"] = c.power->base();
    return j;
}

Json verification_json(const PlanAnswer& a, const Verification& v) {
    const double p = a.asked.objectives.percentile;
    return {{"requests", v.result.requests},       {"one_in", v.every},
            {"simulations", v.simulations},        {"saturated", v.result.saturated},
            {"ttft_mean_s", v.result.ttft.mean()}, {tail_key("ttft", p), v.ttft.base()},
            {"itl_mean_s", v.result.itl.mean()},   {tail_key("itl", p), v.itl.base()},
            {tail_key("tpot", p), v.tpot.base()},  {tail_key("e2e", p), v.e2e.base()}};
}

void put_inputs(Json& in, const PlanAnswer& a) {
    for (const char* searched : {"tp", "pp", "ep", "dp", "cp"}) in.erase(searched);
    const Objectives& o = a.asked.objectives;
    in["rate_per_s"] = a.load.rate.base();
    in["percentile"] = o.percentile;
    in["margin"] = o.margin;
    if (o.ttft) in["ttft_s"] = o.ttft->in(second);
    if (o.itl) in["itl_s"] = o.itl->in(second);
    if (o.tpot) in["tpot_s"] = o.tpot->in(second);
    if (o.e2e) in["e2e_s"] = o.e2e->in(second);
    if (o.spare > 0) in["spare_replicas"] = o.spare;
    in["max_gpus"] = o.max_gpus;
    in["rank"] = o.rank == RankBy::gpus ? "gpus" : o.rank == RankBy::cost ? "cost" : "power";
    Json offers = Json::array();
    for (const Offer& offer : a.asked.offers) {
        Json one = {{"hw", offer.hardware.name}};
        if (offer.price) one["price_usd_per_s"] = offer.price->base();
        offers.push_back(one);
    }
    in["offers"] = offers;
    if (a.asked.offers.size() == 1 && a.asked.offers.front().price)
        in["price_usd_per_s"] = a.asked.offers.front().price->base();
}

Json frontier_json(const PlanAnswer& a) {
    Json all = Json::array();
    const double p = a.asked.objectives.percentile;
    for (const FrontierPoint& f : a.plan.frontier) {
        Json j = {{"tokens_per_s_per_gpu", f.tokens_per_s_per_gpu},
                  {tail_key("itl", p), f.itl_tail.base()},
                  {tail_key("ttft", p), f.ttft_tail.base()},
                  {"utilisation", f.utilisation}};
        put_group(j, f.group, "");
        all.push_back(j);
    }
    return all;
}

void put_best(Json& j, const PlanAnswer& a, const Load& load, const Plan& p) {
    j["verdict"] = to_string(p.verdict);
    j["binding"] = nullptr;
    j["best"] = nullptr;
    if (!p.best) {
        j["reason"] = p.reason;
        if (p.nearest) {
            j["nearest"] = {{"objective", p.nearest->objective},
                            {"wanted_s", p.nearest->wanted.base()},
                            {"reached_s", p.nearest->reached.base()},
                            {"gpus", p.nearest->gpus}};
        }
        return;
    }
    const Candidate& best = p.candidates[*p.best];
    j["binding"] = to_string(best.decode.state.binding);
    j["best"] = candidate_json(a, load, best);
    if (!p.verification) return;
    // What was run request by request is better than the estimate that it was chosen by.
    const Json simulated = verification_json(a, *p.verification);
    for (const char* what : {"ttft", "itl", "tpot", "e2e"}) {
        const std::string key = tail_key(what, a.asked.objectives.percentile);
        j["best"][key] = simulated[key];
    }
    j["best"]["ttft_mean_s"] = simulated["ttft_mean_s"];
    j["best"]["itl_mean_s"] = simulated["itl_mean_s"];
    j["verification"] = simulated;
}

}  // namespace

std::string mode_of(const Candidate& c) { return c.prefill ? "disaggregated" : "co-located"; }

double tokens_per_gpu(const Load& load, const Candidate& c) {
    return load.rate.base() * load.output / static_cast<double>(c.gpus);
}

std::optional<double> usd_per_million_tokens(const Load& load, const Candidate& c) {
    if (!c.cost) return std::nullopt;
    return c.cost->base() / (load.rate.base() * load.output) * 1e6;
}

Report report(const PlanAnswer& a, const std::string& emit) {
    Report r;
    r.json = envelope("plan", a.asked.question);
    put_inputs(r.json["inputs"], a);
    r.json["method"] =
        a.plan.verification
            ? "steady state for the search, the best simulated request by request"
            : "steady state (Little's law with the step time); latencies are analytic estimates";
    put_best(r.json, a, a.load, a.plan);
    r.json["search"] = {{"considered", a.plan.counts.considered},
                        {"unfit", a.plan.counts.unfit},
                        {"pruned", a.plan.counts.pruned},
                        {"pairs", a.plan.counts.pairs},
                        {"simulated", a.plan.counts.simulated}};
    if (!a.plan.note.empty()) r.json["note"] = a.plan.note;
    r.json["requests"] = a.requests;
    r.json["beyond_context"] = a.beyond_context;
    if (a.plan.best) {
        const Candidate& best = a.plan.candidates[*a.plan.best];
        r.json["saturation_margin"] = best.utilisation > 0 ? 1 / best.utilisation - 1 : 0;
        if (a.peak) {
            r.json["peak"] = {{"window_s", a.peak->window.base()},
                              {"rate_per_s", a.peak->rate.base()},
                              {"gpus", a.peak->gpus}};
        }
    }
    r.json["candidates"] = Json::array();
    for (const Candidate& c : a.plan.candidates) r.json["candidates"].push_back(candidate_json(a, a.load, c));
    r.json["frontier"] = frontier_json(a);
    r.json["relief"] = Json::array();
    for (const Relief& x : a.plan.relief) {
        r.json["relief"].push_back(
            {{"resource", x.resource}, {"change", x.change}, {"throughput_gain", x.throughput_gain}});
    }
    if (!a.growth.empty()) {
        r.json["growth"] = Json::array();
        for (const auto& [load, p] : a.growth) {
            Json j = {{"rate_per_s", load.rate.base()}};
            put_best(j, a, load, p);
            r.json["growth"].push_back(std::move(j));
        }
    }
    if (!emit.empty()) r.json["emit"] = {{"engine", emit}, {"commands", emit_commands(a, emit)}};
    r.rows = "candidates";
    r.text = plan_text(a, emit);
    return r;
}

}  // namespace headroom
