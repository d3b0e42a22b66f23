// SPDX-License-Identifier: Apache-2.0
#include "answers/kv.h"

#include "answers/slower_kernels.h"
#include "base/units.h"
#include "perf/step_time.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace headroom {
namespace {

// What an allocator that knows no windows keeps: every layer's keys and values of every token.
BytesPerToken full_growth(const ModelKv& kv) {
    BytesPerToken sum;
    for (const KvLayers& part : kv) sum += part.layers * part.law.per_token;
    return sum;
}

bool hybrid(const ModelKv& kv) {
    return std::any_of(kv.begin(), kv.end(), [](const KvLayers& part) {
        return part.law.cap > 0 || part.law.per_sequence > Bytes{};
    });
}

ReplayCosts costs_of(const Question& q, const Shard& part, bool paged) {
    Engine engine = q.engine;
    if (!paged) engine.time.paged_attention_cost = 0;
    ReplayCosts costs;
    costs.step = [&part, hardware = q.hardware, engine](double sequences, double live) {
        return step_time(part, mixed_decode_batch(sequences, live / sequences), hardware, engine)
            .time.expected;
    };
    costs.prefill = [&part, hardware = q.hardware, engine](double tokens) {
        return step_time(part, prefill_batch(1, tokens), hardware, engine).time.expected;
    };
    return costs;
}

constexpr double kNearLimit = 0.98;  // mean sequences over the limit, from where the limit is what binds

struct Setting {
    const Question& question;
    const KvRequest& request;
    const Shard& part;
    const ModelKv& kv;
    const KvAnswer& answer;
};

ReplayOptions options_for(const Setting& s, Policy policy, std::int64_t block) {
    ReplayOptions o;
    o.policy = policy;
    o.block = block;
    o.region = s.answer.region_tokens;
    o.max_length = s.request.max_length;
    o.max_sequences = s.answer.max_sequences;
    if (policy == Policy::grouped || policy == Policy::grouped_keep) {
        o.layout = page_layout(s.kv, block);
        const double bytes = static_cast<double>(s.answer.region_tokens) * s.answer.bytes_per_token.base();
        o.region = static_cast<std::int64_t>(bytes);
    }
    o.costs = costs_of(s.question, s.part, is_paged(policy));
    if (s.request.progress) {
        o.progress = [&s, policy, block](std::int64_t n) { s.request.progress(policy, block, n); };
    }
    return o;
}

KvRow row(const Setting& s, Policy policy, std::int64_t block) {
    const ReplayOptions options = options_for(s, policy, block);
    KvRow row;
    row.replayed = replay(s.request.open(), options);
    row.estimate = estimate_waste(policy, options.region, block, options.max_length, s.answer.held,
                                  options.max_sequences);
    row.explanation = explain(row.estimate, row.replayed);
    const auto length = static_cast<std::int64_t>(std::llround(s.answer.held.final));
    row.fits = length > 0 ? sequences_that_fit(options, std::max<std::int64_t>(1, length - 1), 1) : 0;
    return row;
}

void add_notes(const Setting& s, KvAnswer& answer) {
    const ReplayResult& first = answer.rows.front().replayed;
    if (first.cut > 0) {
        answer.notes.push_back(fmt::format(
            "{} of {} requests would pass {} tokens; their output is cut there",
            format_count(static_cast<double>(first.cut)), format_count(static_cast<double>(first.requests)),
            format_count(static_cast<double>(s.request.max_length))));
    }
    for (const KvRow& r : answer.rows) {
        const ReplayResult& p = r.replayed;
        if (p.refused > 0 && (&r == &answer.rows.front() || p.refused != first.refused)) {
            answer.notes.push_back(fmt::format(
                "{}: {} of {} requests are longer than it can ever hold", to_string(p.policy),
                format_count(static_cast<double>(p.refused)), format_count(static_cast<double>(p.requests))));
        }
        if (!p.loaded) {
            answer.notes.push_back(
                fmt::format("{}: nothing ever waited for memory; the averages are over all of the time",
                            to_string(p.policy)));
        }
        const auto limit = static_cast<double>(answer.max_sequences);
        if (limit > 0 && p.mean_sequences > kNearLimit * limit) {
            answer.notes.push_back(fmt::format("{}: the limit of {} sequences{} binds, not memory",
                                               to_string(p.policy), format_count(limit),
                                               s.request.max_sequences == 0 ? " of the engine" : ""));
        }
    }
}

}  // namespace

KvAnswer kv_waste(const Question& question, const KvRequest& request) {
    KvAnswer answer;
    answer.question = question;
    const Shard part = shard(question.model, question.deployment);
    const Capacity room = capacity(part, question.hardware, question.engine, 1);
    answer.ledger = room.ledger;
    answer.bytes_per_token = full_growth(room.kv);
    answer.region_tokens = request.region_tokens;
    if (answer.region_tokens == 0) answer.region_tokens = region_tokens(room.kv, room.ledger.kv);
    answer.max_sequences = request.max_sequences > 0
                               ? request.max_sequences
                               : std::llround(question.engine.scheduler.max_sequences.value);
    answer.held = held_tokens(request.open(), request.max_length);
    if (answer.region_tokens <= 0 || answer.held.requests == 0) return answer;
    const Setting setting{question, request, part, room.kv, answer};
    for (const Policy policy : request.policies) {
        const std::size_t begin = answer.rows.size();
        for (const std::int64_t block : request.blocks) {
            answer.rows.push_back(row(setting, policy, block));
            if (!is_paged(policy)) break;
        }
        if (!is_paged(policy) || answer.best_block > 0 || request.blocks.size() < 2) continue;
        std::vector<ReplayResult> sweep;
        for (std::size_t i = begin; i < answer.rows.size(); ++i) sweep.push_back(answer.rows[i].replayed);
        answer.best_block = sweep[best_block(sweep)].block;
    }
    if (hybrid(room.kv) && std::none_of(request.policies.begin(), request.policies.end(), [](Policy p) {
            return p == Policy::grouped || p == Policy::grouped_keep;
        })) {
        answer.notes.emplace_back(
            "the model has windows or states; these policies keep every layer's KV of every token "
            "(--policy grouped does not)");
    }
    add_notes(setting, answer);
    const auto fullest = std::max_element(
        answer.rows.begin(), answer.rows.end(),
        [](const KvRow& a, const KvRow& b) { return a.replayed.mean_sequences < b.replayed.mean_sequences; });
    const double sequences = fullest->replayed.mean_sequences;
    if (sequences > 0) {
        const Batch step = mixed_decode_batch(sequences, fullest->replayed.mean_live_tokens / sequences);
        const std::string slower = slower_kernels(question, part, step);
        if (!slower.empty()) answer.notes.push_back(slower);
    }
    return answer;
}

}  // namespace headroom
