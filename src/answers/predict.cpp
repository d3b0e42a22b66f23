// SPDX-License-Identifier: Apache-2.0
#include "answers/predict.h"

#include "answers/slower_kernels.h"
#include "memory/ledger.h"
#include "ops/routing.h"
#include "ops/speculation.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

void accumulate(StepTime& to, const StepTime& from) {
    to.time += from.time;
    to.shares += from.shares;
    to.floor_shares += from.floor_shares;
    to.work += from.work;
    to.peak = from.peak;
    to.slowest_stage += from.slowest_stage;
    to.bound = largest(to.shares);
    to.floor_bound = largest(to.floor_shares);
}

std::int64_t chunks_of(double prompt, const Engine& engine) {
    if (!engine.scheduler.chunked_prefill) return 1;
    return static_cast<std::int64_t>(std::ceil(prompt / engine.scheduler.max_batched_tokens.value));
}

}  // namespace

double weight_intensity(const Model& model) {
    // Of every matrix that a token is multiplied by; the batch cancels out of bytes, not out of FLOP.
    Bytes bytes;
    Flops flops;
    for (const Operator& op : step_operators(shard(model, {}), decode_batch(1, 1))) {
        if (!std::holds_alternative<Matmul>(op.shape)) continue;
        bytes += op.count * work(op).weights;
        flops += op.count * work(op).flop;
    }
    return bytes > Bytes{} ? (flops / bytes).base() : 0;
}

StepTime prefill_time(const Shard& shard, double prompt, const Hardware& hardware, const Engine& engine) {
    const std::int64_t chunks = chunks_of(prompt, engine);
    const double budget = chunks == 1 ? prompt : engine.scheduler.max_batched_tokens.value;
    StepTime sum;
    for (double past = 0; past < prompt; past += budget) {
        const double fresh = std::min(budget, prompt - past);
        const Batch chunk{
            {{.sequences = 1, .fresh = fresh, .past = past, .samples = past + fresh >= prompt}}};
        accumulate(sum, step_time(shard, chunk, hardware, engine));
    }
    return sum;
}

TouchedExperts touched_experts(const Shard& shard, double tokens_per_rank) {
    TouchedExperts sum;
    double layers = 0;
    for (const Model& part : shard.stages) {
        const std::vector<int> counts = layers_per_kind(part);
        for (std::size_t i = 0; i < part.kinds.size(); ++i) {
            const auto* moe = std::get_if<MixtureOfExperts>(&part.kinds[i].feed_forward);
            if (moe == nullptr) continue;
            const auto hit = [&](const Routing& routing) {
                return expert_traffic(routing, moe->local_experts, moe->experts, moe->top_k,
                                      tokens_per_rank * shard.deployment.dp)
                    .hit;
            };
            layers += counts[i];
            sum.touched += counts[i] * hit(part.routing);
            sum.uniform += counts[i] * hit({});
            sum.held += counts[i] * moe->local_experts;
        }
    }
    if (layers == 0) return {};
    return {sum.touched / layers, sum.uniform / layers, sum.held / layers};
}

RateInterval token_rate(const Prediction& p) {
    const double batch = static_cast<double>(p.batch);
    const TimeEstimate& t = p.decode.time;
    return {p.decode.tokens.low * batch / t.high.in(second),
            p.decode.tokens.expected * batch / t.expected.in(second),
            p.decode.tokens.high * batch / t.low.in(second),
            p.decode.tokens.high * batch / t.floor.in(second)};
}

PredictAnswer predict(const Question& q, const std::vector<std::int64_t>& batches,
                      const std::vector<std::int64_t>& contexts, const std::vector<std::int64_t>& prompts,
                      std::int64_t beside) {
    PredictAnswer answer;
    answer.question = q;
    answer.peak = linear_peak(q.model, q.hardware);
    answer.ridge = answer.peak.rate / q.hardware.memory.bandwidth.value;
    const Shard part = shard(q.model, q.deployment);
    const double intensity = weight_intensity(q.model);
    for (const std::int64_t batch : batches) {
        for (const std::int64_t context : contexts) {
            for (const std::int64_t prompt : prompts) {
                Prediction p;
                p.batch = batch;
                p.context = context;
                p.prompt = prompt;
                const double rank = static_cast<double>(batch) / q.deployment.dp;
                p.beside = beside;
                Batch step = decode_batch(rank, static_cast<double>(context));
                if (beside > 0)
                    step.groups.push_back({.sequences = 1.0 / q.deployment.dp,
                                           .fresh = static_cast<double>(beside),
                                           .past = 0,
                                           .samples = false});
                p.decode = step_time(part, step, q.hardware, q.engine);
                p.experts = touched_experts(part, tokens(with_guesses(step, part)));
                p.prefill = prefill_time(part, static_cast<double>(prompt), q.hardware, q.engine);
                p.prefill_chunks = chunks_of(static_cast<double>(prompt), q.engine);
                p.weight_intensity = static_cast<double>(batch) * intensity;
                p.batch_that_fits =
                    capacity(part, q.hardware, q.engine, static_cast<double>(context)).max_sequences;
                answer.results.push_back(p);
            }
        }
    }
    const double rank =
        static_cast<double>(*std::max_element(batches.begin(), batches.end())) / q.deployment.dp;
    const auto longest = static_cast<double>(*std::max_element(contexts.begin(), contexts.end()));
    answer.slower_kernels = slower_kernels(q, part, decode_batch(rank, longest));
    return answer;
}

}  // namespace headroom
