// SPDX-License-Identifier: Apache-2.0
#include "answers/compare.h"

#include "answers/predict.h"
#include "answers/slower_kernels.h"
#include "memory/ledger.h"

#include <algorithm>

namespace headroom {

CompareRow compare_row(std::string name, Question question, std::string note, std::int64_t context,
                       std::int64_t batch) {
    CompareRow row;
    row.name = std::move(name);
    row.question = std::move(question);
    row.note = std::move(note);
    const Question& q = row.question;
    const Shard part = shard(q.model, q.deployment);
    const double length = static_cast<double>(context);
    const Capacity c = capacity(part, q.hardware, q.engine, length);
    row.parameters = count_parameters(q.model);
    row.weights = c.ledger.weights;
    row.kv_per_token = growth(c.kv);
    row.kv_per_sequence = c.per_sequence;
    row.max_sequences = c.max_sequences;
    row.batch = batch > 0 ? batch : c.max_sequences;
    row.ridge = linear_peak(q.model, q.hardware).rate / q.hardware.memory.bandwidth.value;
    row.batch_to_saturate = row.ridge.base() / std::max(1e-9, weight_intensity(q.model));
    if (row.batch > 0) {
        const Batch step = decode_batch(static_cast<double>(row.batch) / q.deployment.dp, length);
        row.decode = step_time(part, step, q.hardware, q.engine);
        row.slower_kernels = slower_kernels(q, part, step);
    }
    return row;
}

}  // namespace headroom
