// SPDX-License-Identifier: Apache-2.0
#include "report/simulate.h"

#include "base/units.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr std::pair<const char*, double> kShares[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};

Json distribution_json(const Distribution& d) {
    if (d.weight() <= 0) return nullptr;
    Json j = {{"mean", d.mean()}};
    for (const auto& [name, share] : kShares) j[name] = d.percentile(share);
    j["max"] = d.max();
    return j;
}

std::vector<std::string> distribution_row(const std::string& name, const Distribution& d) {
    std::vector<std::string> row{name, format(Seconds(d.mean()), 3)};
    for (const auto& [label, share] : kShares) row.push_back(format(Seconds(d.percentile(share)), 3));
    row.push_back(format(Seconds(d.max()), 3));
    return row;
}

double throughput(const SimulationResult& r) {
    return r.duration > 0 ? static_cast<double>(r.tokens_out) / r.duration : 0;
}

double offered(const SimulationResult& r) {
    return r.arrivals > 0 ? static_cast<double>(r.requests) / r.arrivals : 0;
}

const char* name_of(PoolRole role) {
    switch (role) {
        case PoolRole::both:
            return "co-located";
        case PoolRole::prefill:
            return "prefill";
        case PoolRole::decode:
            return "decode";
    }
    return "";
}

const char* name_of(Batching b) { return b == Batching::continuous ? "continuous" : "static"; }
const char* name_of(Allocation a) { return a == Allocation::paged ? "paged" : "reserve"; }
const char* name_of(Preemption p) { return p == Preemption::recompute ? "recompute" : "swap"; }

// What the fullest pool says of the whole system.
const PoolResult& decoding_pool(const SimulationResult& r) { return r.pools.back(); }

Json result_json(const SimulationResult& r) {
    Json j = {{"requests", r.requests},   {"completed", r.completed},
              {"refused", r.refused},     {"beyond_context", r.beyond_context},
              {"tokens_in", r.tokens_in}, {"tokens_out", r.tokens_out},
              {"duration_s", r.duration}, {"throughput_tokens_per_s", throughput(r)}};
    // An overloaded system has no latency: it grows for as long as one watches.
    const auto latency = [&](const Distribution& d) {
        return r.saturated ? Json(nullptr) : distribution_json(d);
    };
    j["ttft_s"] = latency(r.ttft);
    j["itl_s"] = latency(r.itl);
    j["tpot_s"] = latency(r.tpot);
    j["e2e_s"] = latency(r.e2e);
    j["kv_utilisation"] = r.pools.empty() ? 0 : decoding_pool(r).kv_utilisation;
    j["mean_batch"] = r.pools.empty() ? 0 : decoding_pool(r).mean_batch;
    j["preemptions"] = r.preemptions;
    j["prefix_hit_rate"] = r.prefix_hit_rate;
    j["saturated"] = r.saturated;
    j["offered_per_s"] = r.arrivals > 0 ? Json(offered(r)) : Json(nullptr);
    j["sustainable_per_s"] = r.saturated ? Json(r.sustainable_per_s) : Json(nullptr);
    return j;
}

Json pools_json(const SimulateAnswer& a) {
    Json all = Json::array();
    for (std::size_t i = 0; i < a.result.pools.size(); ++i) {
        const PoolResult& p = a.result.pools[i];
        const Pool& asked = a.system.pools[i];
        const Deployment& d = asked.shard.deployment;
        all.push_back({{"role", name_of(p.role)},
                       {"hw", asked.hardware.name},
                       {"replicas", p.replicas},
                       {"gpus", p.replicas * gpus(d)},
                       {"tp", d.tp},
                       {"pp", d.pp},
                       {"ep", d.ep},
                       {"dp", d.dp},
                       {"steps", p.steps},
                       {"mean_step_s", p.mean_step},
                       {"busy", p.busy},
                       {"mean_batch", p.mean_batch},
                       {"kv_blocks", p.blocks},
                       {"block_tokens", p.block_tokens},
                       {"kv_utilisation", p.kv_utilisation},
                       {"preemptions", p.preemptions}});
    }
    return all;
}

std::string pools_text(const SimulateAnswer& a) {
    Table table({"pool", "device", "replicas", "tp", "pp", "ep", "dp", "steps", "mean step", "busy", "batch",
                 "KV used", "preempted"});
    for (std::size_t i = 0; i < a.result.pools.size(); ++i) {
        const PoolResult& p = a.result.pools[i];
        const Deployment& d = a.system.pools[i].shard.deployment;
        table.add({name_of(p.role), a.system.pools[i].hardware.name, std::to_string(p.replicas),
                   std::to_string(d.tp), std::to_string(d.pp), std::to_string(d.ep), std::to_string(d.dp),
                   format_count(static_cast<double>(p.steps)), format(Seconds(p.mean_step), 3),
                   percent(p.busy), format_number(p.mean_batch, 3), percent(p.kv_utilisation),
                   format_count(static_cast<double>(p.preemptions))});
    }
    return table.to_string();
}

// Which of two ways to use the same GPUs is better, in plain words.
std::string together_text(const SimulateAnswer& a) {
    if (!a.together) return "";
    const SimulationResult &pools = a.result, &one = *a.together;
    std::string text =
        fmt::format("\nthe same {} GPUs as {} replicas that do both: ", a.gpus, a.together_replicas);
    if (one.saturated)
        return text + fmt::format("saturated at {} requests/s{}\n", format_number(one.sustainable_per_s, 4),
                                  pools.saturated ? "" : "; the pools are better");
    text += fmt::format(
        "TTFT p99 {}, ITL p99 {}, end to end p99 {}\n", format(Seconds(one.ttft.percentile(0.99)), 3),
        format(Seconds(one.itl.percentile(0.99)), 3), format(Seconds(one.e2e.percentile(0.99)), 3));
    if (pools.saturated) return text + "one machine for both is better: the pools do not carry this load\n";
    const bool first = pools.ttft.percentile(0.99) <= one.ttft.percentile(0.99);
    const bool gap = pools.itl.percentile(0.99) <= one.itl.percentile(0.99);
    if (first && gap) return text + "the pools are better: both are lower with them\n";
    if (!first && !gap) return text + "one machine for both is better: both are lower without pools\n";
    return text + fmt::format("the pools have the lower {}, one machine for both the lower {}\n",
                              gap ? "ITL" : "TTFT", gap ? "TTFT" : "ITL");
}

// Engines refuse what is longer than the model takes; here only --max-len does.
std::string beyond_text(const SimulateAnswer& a) {
    const std::int64_t limit = a.asked.question.model.max_context;
    const bool refused = a.asked.policy.max_tokens > 0 && a.asked.policy.max_tokens <= limit;
    if (a.result.beyond_context == 0 || refused) return "";
    return fmt::format(
        "note: {} of the {} requests have more than {} tokens, the model's limit, and are served all the "
        "same; --max-len {} refuses them\n",
        format_count(static_cast<double>(a.result.beyond_context)),
        format_count(static_cast<double>(a.result.requests)), format_count(static_cast<double>(limit)),
        limit);
}

std::string text_of(const SimulateAnswer& a) {
    const SimulationResult& r = a.result;
    std::string text = heading(a.asked.question) + "\n";
    if (!a.fault.empty()) return text + "\nanswer: " + a.fault + "\n";
    const std::string rate =
        r.arrivals > 0 ? fmt::format(" at {} requests/s", format_number(offered(r), 4)) : "";
    text +=
        fmt::format("{}: {} request{}{}, {} tokens in and {} out on average; {} batching, {} KV\n",
                    a.asked.question.echo.workload, format_count(static_cast<double>(r.requests)),
                    r.requests == 1 ? "" : "s", rate,
                    format_number(double(r.tokens_in) / double(std::max<std::int64_t>(1, r.completed)), 4),
                    format_number(double(r.tokens_out) / double(std::max<std::int64_t>(1, r.completed)), 4),
                    name_of(a.asked.policy.batching), name_of(a.asked.policy.allocation));
    if (r.saturated) {
        text += fmt::format(
            "\nanswer: saturated; {} requests/s come, {} can be sustained. Latencies would only say how long "
            "it was watched.\n",
            format_number(offered(r), 4), format_number(r.sustainable_per_s, 4));
    }
    text += fmt::format("\n{} tokens/s generated over {}", format_number(throughput(r), 4),
                        format(Seconds(r.duration), 4));
    if (r.refused > 0) text += fmt::format("; {} requests are too long and were refused", r.refused);
    if (r.prefix_hit_rate > 0)
        text += fmt::format("; {} of prompt tokens found in the cache", percent(r.prefix_hit_rate));
    text += "\n" + beyond_text(a) + "\n";
    if (!r.saturated && r.completed > 0) {
        Table table({"", "mean", "p50", "p90", "p95", "p99", "max"});
        table.add(distribution_row("TTFT", r.ttft));
        table.add(distribution_row("ITL", r.itl));
        table.add(distribution_row("TPOT", r.tpot));
        table.add(distribution_row("end to end", r.e2e));
        text += table.to_string() + "\n";
    }
    text += pools_text(a);
    if (a.system.handover)
        text += fmt::format(
            "\nKV moves over {} at {} per GPU, layer by layer: a request waits {} for it on average\n",
            a.system.handover->name, format(a.system.handover->bandwidth, 3), format(r.transfer_mean, 3));
    return text + together_text(a);
}

}  // namespace

Report report(const SimulateAnswer& a) {
    Report r;
    r.json = envelope("simulate", a.asked.question);
    Json& in = r.json["inputs"];
    in["replicas"] = a.system.pools.empty() ? a.asked.replicas : a.system.pools.back().replicas;
    in["policy"] = name_of(a.asked.policy.batching);
    in["allocator"] = name_of(a.asked.policy.allocation);
    in["preemption"] = name_of(a.asked.policy.preemption);
    in["prefix_cache"] = a.asked.policy.keep_prefixes;
    in["rate"] = a.asked.rate;
    if (a.asked.policy.max_tokens > 0) in["max_tokens"] = a.asked.policy.max_tokens;
    if (a.asked.policy.max_sequences > 0) in["max_sequences"] = a.asked.policy.max_sequences;
    if (a.asked.playback.concurrency > 0) in["concurrency"] = a.asked.playback.concurrency;
    if (a.asked.playback.most > 0) in["requests"] = a.asked.playback.most;
    if (a.asked.seed) in["seed"] = *a.asked.seed;
    if (a.asked.prefill) {
        const PrefillPool& p = *a.asked.prefill;
        in["disaggregate"] = fmt::format("{}:{}", p.replicas, p.decode_replicas);
        in["prefill_hw"] = p.hardware.name;
        in["prefill_tp"] = p.deployment.tp;
        if (p.link) in["link_bytes_per_s"] = p.link->base();
    }
    r.json["gpus"] = a.gpus;
    if (!a.fault.empty()) {
        r.json["fits"] = false;
        r.json["reason"] = a.fault;
    } else {
        r.json.update(result_json(a.result));
        r.json["pools"] = pools_json(a);
        if (a.system.handover) {
            r.json["handover"] = {{"link", a.system.handover->name},
                                  {"bandwidth_bytes_per_s", a.system.handover->bandwidth.base()},
                                  {"mean_wait_s", a.result.transfer_mean.base()}};
        }
        if (a.together) {
            r.json["co_located"] = result_json(*a.together);
            r.json["co_located"]["replicas"] = a.together_replicas;
        }
        r.json["percentile_error"] = a.result.itl.exact() ? 0 : Distribution::kBinWidth / 2;
    }
    r.rows = "pools";
    r.text = text_of(a);
    return r;
}

}  // namespace headroom
