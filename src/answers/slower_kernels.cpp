// SPDX-License-Identifier: Apache-2.0
#include "answers/slower_kernels.h"

#include "ops/kv_law.h"
#include "ops/speculation.h"
#include "ops/step.h"
#include "perf/step_time.h"

#include <fmt/core.h>

namespace headroom {
namespace {

constexpr double kMaterial = 0.1;

struct AttentionCost {
    Bytes bytes;
    Seconds time;
};

AttentionCost attention_cost(const Shard& shard, const Batch& decode, const Question& q) {
    AttentionCost sum;
    for (const Operator& op : step_operators(shard, with_guesses(decode, shard))) {
        if (!std::holds_alternative<Attention>(op.shape)) continue;
        sum.bytes += op.count * work(op).kv;
        sum.time += op.count * operator_time(op, q.hardware, {.graph = q.engine.time.graphs}).time.expected;
    }
    return sum;
}

}  // namespace

std::string slower_kernels(const Question& q, const Shard& part, const Batch& decode) {
    const StorageFormat format = kv_format(q.model);
    if (bits(format.element) >= 16) return "";
    Model plain = q.model;
    plain.kv_format = storage_format("bf16");
    const Shard wide_part = shard(plain, q.deployment);
    const AttentionCost narrow = attention_cost(part, decode, q), wide = attention_cost(wide_part, decode, q);
    if (wide.bytes <= Bytes{} || wide.time <= Seconds{}) return "";
    const double bytes = narrow.bytes / wide.bytes, time = narrow.time / wide.time;
    const Seconds step = step_time(wide_part, decode, q.hardware, q.engine).time.expected;
    if (time < 1.1 * bytes || wide.time < kMaterial * step) return "";
    const DecodeCeilings& kernels = q.hardware.reach.decode;
    return fmt::format("KV in {} has {:.2f} of the bytes of bf16 but attention takes {:.2f} of its time: {}",
                       to_string(format), bytes, time,
                       kernels.tile8 > kernels.tile16
                           ? "its kernels are slower per token than those at 16 bits"
                           : "part of what its kernels do does not shrink with the bytes");
}

}  // namespace headroom
