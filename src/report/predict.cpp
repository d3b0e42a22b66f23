// SPDX-License-Identifier: Apache-2.0
#include "report/predict.h"

#include "base/units.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/core.h>

namespace headroom {
namespace {

double fraction_of_peak(const StepTime& s) {
    return s.peak > FlopRate{} ? s.work.flop / s.time.expected / s.peak : 0;
}

Json decode_json(const Prediction& p) {
    Json j;
    const RateInterval rate = token_rate(p);
    put_times(j, p.decode.time);
    j["tokens_per_s"] = rate.expected;
    j["floor_tokens_per_s"] = rate.floor;
    j["low_tokens_per_s"] = rate.low;
    j["high_tokens_per_s"] = rate.high;
    j["tokens_per_step"] = p.decode.tokens.expected;
    j["low_tokens_per_step"] = p.decode.tokens.low;
    j["high_tokens_per_step"] = p.decode.tokens.high;
    j["beside_tokens"] = p.beside;
    j["weight_bytes"] = p.decode.work.weights.in(byte);
    j["kv_bytes"] = p.decode.work.kv.in(byte);
    j["flop"] = p.decode.work.flop.in(flop);
    j["intensity_flop_per_byte"] = (p.decode.work.flop / compulsory_bytes(p.decode.work)).base();
    j["weight_intensity_flop_per_byte"] = p.weight_intensity;
    j["fraction_of_peak"] = fraction_of_peak(p.decode);
    j["bound"] = to_string(p.decode.bound);
    j["floor_bound"] = to_string(p.decode.floor_bound);
    if (p.experts.held > 0)
        j["experts"] = {
            {"touched", p.experts.touched}, {"uniform", p.experts.uniform}, {"held", p.experts.held}};
    j["memory_s"] = p.decode.shares.memory.in(second);
    j["compute_s"] = p.decode.shares.compute.in(second);
    j["network_s"] = p.decode.shares.network.in(second);
    j["overhead_s"] = p.decode.shares.overhead.in(second);
    return j;
}

Json prefill_json(const Prediction& p) {
    Json j;
    put_times(j, p.prefill.time);
    j["tokens_per_s"] = static_cast<double>(p.prompt) / p.prefill.time.expected.in(second);
    j["flop"] = p.prefill.work.flop.in(flop);
    j["hbm_bytes"] = hbm_bytes(p.prefill.work).in(byte);
    j["fraction_of_peak"] = fraction_of_peak(p.prefill);
    j["bound"] = to_string(p.prefill.bound);
    j["floor_bound"] = to_string(p.prefill.floor_bound);
    j["chunks"] = p.prefill_chunks;
    return j;
}

std::vector<std::string> decode_line(const Prediction& p) {
    const TimeEstimate& t = p.decode.time;
    const Intensity intensity = p.decode.work.flop / compulsory_bytes(p.decode.work);
    const bool fits = p.batch <= p.batch_that_fits;
    return {format_count(static_cast<double>(p.batch)),
            format_count(static_cast<double>(p.context)),
            format(t.floor, 3),
            format(t.expected, 3),
            format(t.low, 3) + " .. " + format(t.high, 3),
            format_number(token_rate(p).expected, 4),
            format_number(intensity.base(), 3),
            percent(fraction_of_peak(p.decode)),
            bound_text(p.decode.bound, p.decode.floor_bound),
            fits ? "yes" : fmt::format("no, {}", p.batch_that_fits)};
}

std::vector<std::string> prefill_line(const Prediction& p) {
    const TimeEstimate& t = p.prefill.time;
    return {format_count(static_cast<double>(p.prompt)),
            format(t.floor, 3),
            format(t.expected, 3),
            format(t.low, 3) + " .. " + format(t.high, 3),
            format_number(static_cast<double>(p.prompt) / t.expected.in(second), 4),
            percent(fraction_of_peak(p.prefill)),
            bound_text(p.prefill.bound, p.prefill.floor_bound)};
}

// What speculation gains a step, and how far that moves the rates; "" without it.
std::string speculation_text(const PredictAnswer& a) {
    const Prediction& first = a.results.front();
    if (first.decode.tokens.expected <= 1) return "";
    std::string text = fmt::format(
        "a step gains {} tokens per sequence ({} .. {})\n", format_number(first.decode.tokens.expected, 3),
        format_number(first.decode.tokens.low, 3), format_number(first.decode.tokens.high, 3));
    std::set<std::pair<std::int64_t, std::int64_t>> told;
    for (const Prediction& p : a.results) {
        if (!told.emplace(p.batch, p.context).second) continue;
        text += fmt::format("  batch {}, context {}: {} .. {} tokens/s\n",
                            format_count(static_cast<double>(p.batch)),
                            format_count(static_cast<double>(p.context)), format_number(token_rate(p).low, 4),
                            format_number(token_rate(p).high, 4));
    }
    return text;
}

std::string text_of(const PredictAnswer& a) {
    const Prediction& first = a.results.front();
    const bool experts = first.experts.held > 0;
    std::vector<std::string> header{"batch",    "context", "floor",   "expected", "interval",
                                    "tokens/s", "FLOP/B",  "of peak", "binds",    "fits"};
    if (experts) header.emplace_back("experts read");
    Table decode(std::move(header));
    Table prefill({"prompt", "floor", "expected", "interval", "tokens/s", "of peak", "binds"});
    std::set<std::int64_t> prompts_told;
    std::set<std::pair<std::int64_t, std::int64_t>> told;  // one step is as fast beside every prompt
    for (const Prediction& p : a.results) {
        if (prompts_told.insert(p.prompt).second) prefill.add(prefill_line(p));
        if (!told.emplace(p.batch, p.context).second) continue;
        std::vector<std::string> line = decode_line(p);
        if (experts)
            line.push_back(fmt::format("{} of {}", format_number(p.experts.touched, 3),
                                       format_number(p.experts.held, 4)));
        decode.add(std::move(line));
    }
    std::string text = heading(a.question) + "\n";
    text += fmt::format("ridge {} FLOP/B: {} {} over {}\n", format_number(a.ridge.base(), 4),
                        format(a.peak.rate, 4), to_string(a.peak.computed),
                        format(a.question.hardware.memory.bandwidth.value));
    text += "\ndecode, one step\n" + decode.to_string();
    if (first.beside > 0)
        text += fmt::format("{} tokens of a prompt run in the same step\n",
                            format_count(static_cast<double>(first.beside)));
    const auto any = [&](StepTime Prediction::*step) {
        return std::any_of(a.results.begin(), a.results.end(), [&](const Prediction& p) {
            return differs((p.*step).bound, (p.*step).floor_bound);
        });
    };
    text += bound_note(any(&Prediction::decode)) + speculation_text(a);
    if (!a.slower_kernels.empty()) text += "note: " + a.slower_kernels + "\n";
    if (first.prompt > 0)
        text += "\nprefill, one prompt\n" + prefill.to_string() + bound_note(any(&Prediction::prefill));
    return text;
}

}  // namespace

Report report(const PredictAnswer& a) {
    Report r;
    r.json = envelope("predict", a.question);
    r.json["results"] = Json::array();
    for (const Prediction& p : a.results) {
        Json row = {{"batch", p.batch},
                    {"context_tokens", p.context},
                    {"prompt_tokens", p.prompt},
                    {"ridge_flop_per_byte", a.ridge.base()}};
        row["batch_that_fits"] = p.batch_that_fits;
        row["decode"] = decode_json(p);
        row["prefill"] = prefill_json(p);
        r.json["results"].push_back(std::move(row));
    }
    if (!a.slower_kernels.empty()) r.json["notes"] = Json::array({a.slower_kernels});
    r.text = text_of(a);
    return r;
}

}  // namespace headroom
