// SPDX-License-Identifier: Apache-2.0
#include "answers/roofline.h"

#include "ops/speculation.h"

#include <algorithm>

namespace headroom {
namespace {

void add_times(OperatorTime& to, const OperatorTime& once, double n) {
    to.time += n * once.time;
    to.shares += n * once.shares;
    to.memory_floor += n * once.memory_floor;
    to.compute_floor += n * once.compute_floor;
    to.network_floor += n * once.network_floor;
    to.bound = largest(to.shares);
}

}  // namespace

RooflineAnswer roofline(const Question& q, bool prefill, std::int64_t batch, std::int64_t tokens) {
    RooflineAnswer answer;
    answer.question = q;
    answer.phase = prefill ? "prefill" : "decode";
    answer.batch = batch;
    answer.tokens = tokens;
    answer.peak = linear_peak(q.model, q.hardware);
    answer.ridge = answer.peak.rate / q.hardware.memory.bandwidth.value;
    const Shard part = shard(q.model, q.deployment);
    const double sequences = static_cast<double>(batch) / q.deployment.dp;
    const double length = static_cast<double>(tokens);
    const Batch work_of =
        with_guesses(prefill ? prefill_batch(sequences, length) : decode_batch(sequences, length), part);
    const KernelChoices choices{.graph = q.engine.time.graphs && !prefill,
                                .quantise = q.engine.time.quantise};
    for (const Operator& op : step_operators(part, work_of)) {
        auto row = std::find_if(answer.rows.begin(), answer.rows.end(),
                                [&](const RooflineRow& r) { return r.name == op.name; });
        if (row == answer.rows.end()) {
            answer.rows.push_back(
                {.name = op.name, .count = 0, .work = {}, .time = {}, .compute = compute_type(op)});
            row = answer.rows.end() - 1;
        }
        row->count += op.count;
        row->work += op.count * work(op);
        add_times(row->time, operator_time(op, q.hardware, choices), op.count);
    }
    answer.step = step_time(part, work_of, q.hardware, q.engine);
    return answer;
}

}  // namespace headroom
